/** The whole session in order: eleven requests of one engineer, a remark in between, and one interruption. */
import type { Line } from './notation.ts'
import { assembly } from './script-assembly.ts'
import { audit } from './script-audit.ts'
import { estimates } from './script-estimates.ts'
import { importers } from './script-importers.ts'
import { map } from './script-map.ts'
import { notes } from './script-notes.ts'
import { pairing } from './script-pairing.ts'
import { replace } from './script-replace.ts'
import { sizes } from './script-sizes.ts'

export const script: readonly Line[] = [...map, ...sizes, ...replace, ...assembly, ...pairing, ...estimates, ...importers, ...audit, ...notes]
