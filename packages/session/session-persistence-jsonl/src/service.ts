/**
 * The plugin: sessions as JSONL files in one folder.
 */
import { Context, Service } from '@deepseek-ai/cordis'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { SessionEvent, SessionHeader, SessionListing, SessionStore } from '@deepseek-ai/dsh-session'
import { SessionPersistence } from '@deepseek-ai/dsh-session-persistence'
import { z } from 'zod'
import { sessionsFolder } from './folder.ts'
import { JsonlStorage } from './storage.ts'

const Config = z.strictObject({
  /** The folder; relative to the working directory. */
  dir: z.string().min(1).default(() => sessionsFolder(process.env, homedir())),
}).prefault({})

export type JsonlSessionPersistenceConfig = z.output<typeof Config>

export class JsonlSessionPersistence extends SessionPersistence {
  static readonly Config = Config
  private readonly storage: JsonlStorage

  constructor(ctx: Context, config: JsonlSessionPersistenceConfig) {
    super(ctx)
    const logger = ctx.logger('session-persistence')
    this.storage = new JsonlStorage(resolve(config.dir), problem => logger.warn('%s', problem))
  }

  override create(header: SessionHeader): Promise<SessionStore> {
    return this.storage.create(header)
  }

  override open(id: string, take?: (event: SessionEvent) => void): Promise<SessionStore> {
    return this.storage.open(id, take)
  }

  override list(): Promise<readonly SessionListing[]> {
    return this.storage.list()
  }

  async *[Service.init](): AsyncGenerator<() => Promise<void>, void, void> {
    yield () => this.storage.close()
  }
}
