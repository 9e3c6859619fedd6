import { defineConfig } from 'vitest/config'

/** What is tried at length, minutes and not seconds: run by itself, one file after the other, each with all cores. */
export default defineConfig({
  test: {
    include: ['packages/*/*/test/**/*.deep.ts', 'apps/*/test/**/*.deep.ts', 'test/**/*.deep.ts'],
    testTimeout: 3_600_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
    // As in vitest.config.ts.
    experimental: { viteModuleRunner: false },
  },
})
