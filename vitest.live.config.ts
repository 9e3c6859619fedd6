import { defineConfig } from 'vitest/config'

/** What asks a real provider: costs money and minutes, and needs a key in the environment. */
export default defineConfig({
  test: {
    include: ['test/live/**/*.live.ts'],
    testTimeout: 900_000,
    disableConsoleIntercept: true,
    // As in vitest.config.ts.
    experimental: { viteModuleRunner: false },
  },
})
