/**
 * Environment: what a command is told of where it runs.
 *
 * Pure.
 */

/** No pagers, no editors that wait for somebody, no colours: there is no terminal. */
const WITHOUT_TERMINAL = { TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', GIT_EDITOR: 'true', GIT_TERMINAL_PROMPT: '0', NO_COLOR: '1' }

/** What asks for colours all the same. */
const COLOUR_DEMANDS = ['FORCE_COLOR', 'CLICOLOR_FORCE']

/** What a command prints is read by a model and kept in a log, and neither is a place for a key. */
const KEY = /_API_KEY$/i

/** The environment of a command: `env` without the keys in it, but for those in `passedKeys`. */
export function shellEnvironment(env: NodeJS.ProcessEnv, passedKeys: readonly string[] = []): NodeJS.ProcessEnv {
  const isKept = (name: string): boolean => !COLOUR_DEMANDS.includes(name) && (!KEY.test(name) || passedKeys.includes(name))
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name))), ...WITHOUT_TERMINAL }
}
