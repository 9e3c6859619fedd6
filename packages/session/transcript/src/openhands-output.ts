/**
 * OpenHands: one run a line, `{instruction, history, …}`; the history is a list of actions, and of observations that say what
 * came of them.
 *
 * Pure. Runs are conversations of their own. An action that a model's call made names the response that the call stood in,
 * whole: its text, its calls, its usage; all actions of one response are one answer. Older events name no response; there the
 * action itself is the call, and the next observation its result.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { callBlock, textBlock, type ItemDraft, type TranscriptBuilder } from './builder.ts'
import { chatAnswer, chatTools } from './chat.ts'
import type { LinesFormat } from './format.ts'
import { imageFromUrl } from './images.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import { chatUsage } from './usage.ts'

export const openhandsOutput: LinesFormat = {
  name: 'openhands-output',
  expected: 'an OpenHands output (JSON Lines of {"instruction":…,"history":[{"action"|"observation":…}],…})',

  claims({ value }) {
    const first = [arrayAt(value, 'history')[0]].flat()[0]
    return isObject(first) && isEvent(first) && value.trajectory === undefined ? 'yes' : 'no'
  },

  read(lines, builder) {
    for (const { line, value } of lines) {
      builder.beginConversation(line)
      new Run(builder, line).read(value)
    }
    return builder.finish()
  },
}

function isEvent(event: JsonObject): boolean {
  return typeof event.action === 'string' || typeof event.observation === 'string'
}

class Run {
  private readonly builder: TranscriptBuilder
  private readonly line: number
  private readonly responses = new Set<string>()
  /** Of what the model still sees. */
  private readonly places: { readonly id: number; readonly draft: ItemDraft }[] = []
  private begun = false
  /** A call without a response stands open: the next observation is its result. */
  private awaiting = false

  constructor(builder: TranscriptBuilder, line: number) {
    this.builder = builder
    this.line = line
  }

  read(run: JsonObject): void {
    for (const event of arrayAt(run, 'history').flat()) {
      if (!isObject(event) || !isEvent(event)) this.builder.skip('damaged event', this.line)
      else if (typeof event.action === 'string') this.action(event.action, event)
      else this.observation(event)
    }
  }

  private action(action: string, event: JsonObject): void {
    const { builder, line } = this
    const args = objectAt(event, 'args') ?? event
    switch (action) {
      case 'system':
        return builder.envelope({ system: stringAt(args, 'content'), tools: chatTools(builder, arrayAt(args, 'tools')) }, line)
      case 'condensation':
        return this.condensation(args)
      case 'recall':
      case 'change_agent_state':
        return builder.skip(`action ${action}, not shown to the model`, line)
    }
    const response = objectAt(objectAt(event, 'tool_call_metadata') ?? {}, 'model_response')
    if (response !== undefined) this.response(response, event)
    else if (action === 'message' && (event.source === 'user' || !this.begun)) this.place(event, builder.input(messageBlocks(args), 'person', line))
    else if (action === 'message') this.place(event, builder.answer({ content: messageBlocks(args), line }))
    else {
      this.place(event, builder.answer({ content: calledBy(action, args), line }))
      this.awaiting = true
    }
    this.begun = true
  }

  private response(response: JsonObject, event: JsonObject): void {
    const id = stringAt(response, 'id') ?? ''
    if (id !== '' && this.responses.has(id)) return
    this.responses.add(id)
    const choice = arrayAt(response, 'choices').find(isObject) ?? {}
    const answer = chatAnswer(this.builder, objectAt(choice, 'message') ?? {}, this.line, { model: stringAt(response, 'model') })
    answer.usage = chatUsage(objectAt(response, 'usage'))
    this.place(event, answer)
  }

  private observation(event: JsonObject): void {
    const { builder, line } = this
    const callId = stringAt(objectAt(event, 'tool_call_metadata') ?? {}, 'tool_call_id')
    if (event.observation === 'recall') return this.recalled(objectAt(event, 'extras') ?? {}, event)
    if (event.observation === 'agent_state_changed' || event.observation === 'null') return builder.skip(`observation ${event.observation}, not shown to the model`, line)
    const content = [textBlock(observed(event))]
    if (callId === undefined && !this.awaiting) return this.place(event, builder.input(content, 'context', line))
    this.awaiting = false
    this.place(event, builder.result(callId ?? '', content, hasFailed(event), line))
  }

  /** What the tool looked up about the workspace and added to the conversation. */
  private recalled(extras: JsonObject, event: JsonObject): void {
    const knowledge = arrayAt(extras, 'microagent_knowledge').filter(isObject).map(item => stringAt(item, 'content') ?? '')
    const texts = [stringAt(extras, 'repo_instructions') ?? '', stringAt(extras, 'additional_agent_instructions') ?? '', ...knowledge].filter(text => text !== '')
    if (texts.length > 0) this.place(event, this.builder.input(texts.map(textBlock), 'context', this.line))
  }

  /** Events are forgotten up to an id; what stood before them was kept in front of the summary, and is not here. */
  private condensation(args: JsonObject): void {
    const ids = arrayAt(args, 'forgotten_event_ids').filter(id => typeof id === 'number')
    const first = numberAt(args, 'forgotten_events_start_id') ?? Math.min(...ids)
    const last = numberAt(args, 'forgotten_events_end_id') ?? Math.max(...ids)
    const { builder, places, line } = this
    if (places.some(({ id }) => id < first)) builder.skip('beginning that was kept in front of a summary', line)
    while (places[0] !== undefined && places[0].id <= last) places.shift()
    builder.compaction({ content: [textBlock(stringAt(args, 'summary') ?? '')], keptFrom: places[0]?.draft ?? null, tokensBefore: undefined, line })
  }

  private place(event: JsonObject, draft: ItemDraft | undefined): void {
    const id = numberAt(event, 'id')
    if (draft !== undefined && id !== undefined) this.places.push({ id, draft })
  }
}

function messageBlocks(args: JsonObject): ContentBlock[] {
  const images = arrayAt(args, 'image_urls').filter(url => typeof url === 'string')
  return [textBlock(stringAt(args, 'content') ?? ''), ...images.map(imageFromUrl)]
}

const NO_ARGUMENTS = new Set(['thought', 'action', 'action_risk', 'security_risk', 'is_confirmed', 'confirmation_state', 'keep_prompt', 'kernel_init_code', 'id', 'timestamp', 'source', 'message'])

/** Without the response, what the model thought and did is what its action says. */
function calledBy(action: string, args: JsonObject): ContentBlock[] {
  const given = Object.fromEntries(Object.entries(args).filter(([key]) => !NO_ARGUMENTS.has(key)))
  return [textBlock(stringAt(args, 'thought') ?? ''), callBlock(undefined, action, given)]
}

/** As OpenHands shows it to the model: a command's output between what its shell adds. */
function observed(event: JsonObject): string {
  const content = stringAt(event, 'content') ?? ''
  const shell = objectAt(objectAt(event, 'extras') ?? {}, 'metadata')
  if (event.observation !== 'run' || shell === undefined) return content
  const [folder, python] = [stringAt(shell, 'working_dir') ?? '', stringAt(shell, 'py_interpreter_path') ?? '']
  const exitCode = numberAt(shell, 'exit_code') ?? -1
  return [
    `${stringAt(shell, 'prefix') ?? ''}${content}${stringAt(shell, 'suffix') ?? ''}`,
    ...(folder === '' ? [] : [`[Current working directory: ${folder}]`]),
    ...(python === '' ? [] : [`[Python interpreter: ${python}]`]),
    ...(exitCode === -1 ? [] : [`[Command finished with exit code ${exitCode}]`]),
  ].join('\n')
}

function hasFailed(event: JsonObject): boolean {
  const exitCode = numberAt(objectAt(objectAt(event, 'extras') ?? {}, 'metadata') ?? {}, 'exit_code') ?? numberAt(event, 'exit_code') ?? 0
  return event.observation === 'error' || event.success === false || (exitCode !== 0 && exitCode !== -1)
}
