export { blocksOf, type Block } from './blocks.ts'
export { TuiService, TuiService as default, type TuiOptions } from './service.ts'
