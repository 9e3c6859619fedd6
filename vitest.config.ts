import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/*/test/**/*.spec.ts', 'apps/*/test/**/*.spec.ts', 'test/**/*.spec.ts'],
    testTimeout: 60_000,
    // The cordis loader imports plugins natively; loading tests through vite as well would make two copies of every class.
    experimental: { viteModuleRunner: false },
  },
})
