/**
 * Where sessions are kept when nobody says where.
 *
 * Pure.
 */
import { isAbsolute, join } from 'node:path'

/**
 * `$DSH_DATA_DIR/sessions`, else below the folder for a person's data: `$XDG_DATA_HOME`, which counts only as an absolute path,
 * or `~/.local/share`.
 */
export function sessionsFolder(env: { readonly [name: string]: string | undefined }, home: string): string {
  const { DSH_DATA_DIR: own = '', XDG_DATA_HOME: shared = '' } = env
  if (own !== '') return join(own, 'sessions')
  return join(isAbsolute(shared) ? shared : join(home, '.local', 'share'), 'dsh', 'sessions')
}
