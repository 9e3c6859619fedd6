/**
 * Formats: every kind of file that can be read.
 *
 * Pure. No file is of two formats: at most one of these claims it, whatever their order.
 */
import { aiderHistory } from './aider-history.ts'
import { claudeCode } from './claude-code.ts'
import { codexRollout } from './codex-rollout.ts'
import { copilotChatreplay } from './copilot-chatreplay.ts'
import { copilotCliEvents } from './copilot-cli-events.ts'
import { deepseekHarness } from './deepseek-harness.ts'
import { dshSession } from './dsh-session.ts'
import type { DocumentFormat, LinesFormat, TextFormat } from './format.ts'
import { geminiCliChat } from './gemini-cli-chat.ts'
import { kimiContext } from './kimi-context.ts'
import { kimiWire } from './kimi-wire.ts'
import { miniSweAgent } from './mini-swe-agent.ts'
import { openaiChat } from './openai-chat.ts'
import { opencodeExport } from './opencode-export.ts'
import { openhandsOutput } from './openhands-output.ts'
import { piSession } from './pi-session.ts'
import { sweAgent } from './swe-agent.ts'
import { tauBench } from './tau-bench.ts'

export const LINES_FORMATS: readonly LinesFormat[] = [dshSession, deepseekHarness, claudeCode, codexRollout, piSession, copilotCliEvents, kimiWire, kimiContext, openhandsOutput]
export const DOCUMENT_FORMATS: readonly DocumentFormat[] = [geminiCliChat, opencodeExport, copilotChatreplay, sweAgent, tauBench, miniSweAgent, openaiChat]
export const TEXT_FORMATS: readonly TextFormat[] = [aiderHistory]
