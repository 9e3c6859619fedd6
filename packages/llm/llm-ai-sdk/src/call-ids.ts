/**
 * Call ids: those of a conversation, as one wire accepts them.
 *
 * Pure. A log needs ids that differ within one answer. A wire may take fewer characters than the provider that made an id, and
 * may want all ids of a request to differ; so the second call whose id is taken becomes `2_…`, by what stands before it alone.
 */
export class CallIds {
  private readonly asAccepted: (id: string) => string
  private readonly taken = new Set<string>()
  /** The newest call of each id: the one that a result answers. */
  private readonly newest = new Map<string, string>()

  constructor(asAccepted: (id: string) => string) {
    this.asAccepted = asAccepted
  }

  ofCall(id: string): string {
    let sent = this.asAccepted(id)
    for (let count = 2; this.taken.has(sent); count++) sent = this.asAccepted(`${count}_${id}`)
    this.taken.add(sent)
    this.newest.set(id, sent)
    return sent
  }

  ofResult(id: string): string {
    return this.newest.get(id) ?? this.asAccepted(id)
  }
}
