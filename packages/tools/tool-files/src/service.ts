/**
 * The plugin: the tools `read`, `write`, `edit`, `list` and `search`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { KnownFiles } from './known.ts'
import { Limits } from './limits.ts'
import { listTool } from './list.ts'
import { readTool } from './read.ts'
import { searchTool } from './search.ts'
import { editTool, writeTool } from './write.ts'

export class FileTools {
  static readonly Config = Limits
  static readonly inject = ['tools']

  constructor({ tools }: Context, limits: Limits = Limits.parse({})) {
    const known = new KnownFiles()
    tools.registerTool(readTool(limits, known))
    tools.registerTool(listTool(limits))
    tools.registerTool(searchTool(limits))
    tools.registerTool(editTool(limits, known))
    tools.registerTool(writeTool(limits, known))
  }
}
