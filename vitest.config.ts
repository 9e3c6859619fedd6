import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/*/test/**/*.spec.ts', 'apps/*/test/**/*.spec.ts', 'test/**/*.spec.ts'],
    testTimeout: 60_000,
    // By default one core is left free; on a machine with two that is half of it.
    maxWorkers: '100%',
    // One process runs many files: loading the packages anew for each of them costs more than most of their tests.
    isolate: false,
    // The cordis loader imports plugins natively; loading tests through vite as well would make two copies of every class.
    experimental: { viteModuleRunner: false },
  },
})
