/**
 * Environment: what a program is told of the terminal it does not have.
 *
 * Pure.
 */

/** No pagers, no editors that wait for somebody, no colours. */
const WITHOUT_TERMINAL = { TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', GIT_EDITOR: 'true', GIT_TERMINAL_PROMPT: '0', NO_COLOR: '1' }

/** What asks for colours all the same. */
const COLOUR_DEMANDS = ['FORCE_COLOR', 'CLICOLOR_FORCE']

export function shellEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !COLOUR_DEMANDS.includes(name))
  return { ...Object.fromEntries(kept), ...WITHOUT_TERMINAL }
}
