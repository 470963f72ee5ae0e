interface Tenant<V> {
  waiting: Map<unknown, { value: V; ticket: number }>;
  /** Counts those who joined: what was served since tells how many stand before. */
  joined: number;
  served: number;
}

/**
 * Keys that wait, each with a value: tenants are served in turn, however many keys each has, and the keys of one tenant
 * in order of arrival. Every call takes constant time.
 */
export class Rotation<V> {
  /** The first is next. */
  readonly #tenants = new Map<string, Tenant<V>>();
  readonly #tenantOf = new Map<unknown, string>();

  get size(): number {
    return this.#tenantOf.size;
  }

  get(key: unknown): V | undefined {
    return this.#tenants.get(this.#tenantOf.get(key) ?? "")?.waiting.get(key)?.value;
  }

  /** Adds the key at the end of its tenant's; a key that waits already keeps its place. */
  add(key: unknown, tenant: string, value: V): void {
    if (this.#tenantOf.has(key)) return;
    const joined = this.#tenants.get(tenant) ?? { waiting: new Map(), joined: 0, served: 0 };
    joined.waiting.set(key, { value, ticket: joined.joined++ });
    this.#tenants.set(tenant, joined);
    this.#tenantOf.set(key, tenant);
  }

  /** Adds the key before all others; the next turn is its tenant's. Takes time for each that waits: for rare cases. */
  addFirst(key: unknown, tenant: string, value: V): void {
    this.delete(key);
    const others = [...this.#tenants];
    const before = this.#tenants.get(tenant) ?? { waiting: new Map(), joined: 0, served: 0 };
    const waiting = new Map([[key, { value, ticket: before.served }], ...before.waiting]);
    this.#tenants.clear();
    this.#tenants.set(tenant, { ...before, joined: Math.max(before.joined, before.served + 1), waiting });
    for (const [name, other] of others) if (name !== tenant) this.#tenants.set(name, other);
    this.#tenantOf.set(key, tenant);
  }

  clear(): void {
    this.#tenants.clear();
    this.#tenantOf.clear();
  }

  /** Returns whether the key waited. */
  delete(key: unknown): boolean {
    const name = this.#tenantOf.get(key);
    if (name === undefined) return false;
    const tenant = this.#tenants.get(name);
    tenant?.waiting.delete(key);
    if (tenant?.waiting.size === 0) this.#tenants.delete(name);
    return this.#tenantOf.delete(key);
  }

  /** Removes and returns the next; tenants whose first may not go are left out. */
  next(mayGo: (value: V) => boolean = () => true): { key: unknown; value: V } | undefined {
    for (const [name, tenant] of this.#tenants) {
      for (const [key, { value, ticket }] of tenant.waiting) {
        if (!mayGo(value)) break;
        tenant.served = ticket + 1;
        this.delete(key);
        // The tenant waits for the others now.
        if (this.#tenants.delete(name)) this.#tenants.set(name, tenant);
        return { key, value };
      }
    }
    return undefined;
  }

  /** Number of tenants that wait. */
  get tenants(): number {
    return this.#tenants.size;
  }

  /** Number of waiting keys of a tenant. */
  sizeOf(tenant: string): number {
    return this.#tenants.get(tenant)?.waiting.size ?? 0;
  }

  /** The key that has waited longest of the tenant with the most. Takes time for each tenant: for rare cases. */
  oldestOfMost(): unknown {
    let most: Tenant<V> | undefined;
    for (const tenant of this.#tenants.values()) if (tenant.waiting.size > (most?.waiting.size ?? 0)) most = tenant;
    return most?.waiting.keys().next().value;
  }

  /** About how many are served before the key, including those who left in between. */
  before(key: unknown): number {
    const { waiting, served = 0 } = this.#tenants.get(this.#tenantOf.get(key) ?? "") ?? {};
    const ahead = (waiting?.get(key)?.ticket ?? 0) - served;
    return Math.max(0, Math.min(this.size - 1, ahead * this.#tenants.size));
  }

  values(): V[] {
    return [...this.#tenants.values()].flatMap(({ waiting }) => [...waiting.values()].map(({ value }) => value));
  }
}
