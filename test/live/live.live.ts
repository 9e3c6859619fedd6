/** `npm run test:live`: a real model with a key in the environment works in a lowered window until something was compacted. */
import { expect, it } from 'vitest'
import { expectFinished } from './expect.ts'
import { lowered, LOWERED_WINDOW, routeOfEnvironment, workOn } from './task.ts'

const route = await routeOfEnvironment()
if (route === null) console.log('skipped: no provider has a key in the environment; `dsh doctor` says which are understood')

it.skipIf(route === null)('a conversation with tools is compacted and goes on to its end', async () => {
  expect(route).not.toBeNull()
  const outcome = await workOn(route!, lowered(route!))
  const { compactions, failed, entries, prompts, codes } = outcome
  console.log(
    `${route!.provider}/${route!.model} in a window of ${LOWERED_WINDOW}: ${compactions} compactions, ${failed} failed; `
    + `prompt ${prompts.before} → ${prompts.after} tokens by the provider’s count, surface ${entries.before} → ${entries.after} entries; `
    + `${codes.noted.length} of ${codes.hidden.length} words noted`,
  )
  expectFinished(outcome)
})
