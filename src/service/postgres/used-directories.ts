/** The directories that servers have files in, those included that start or end, and write meanwhile. */
export class UsedDirectories {
  readonly #servers = new Map<string, number>();

  has(directory: string): boolean {
    return this.#servers.has(directory);
  }

  /** Starts a server; its directory is used from now until it has ended. */
  async by<Server extends { ended: Promise<unknown> }>(
    directory: string,
    start: () => Promise<Server>,
  ): Promise<Server> {
    this.#count(directory, 1);
    const end = () => this.#count(directory, -1);
    try {
      const server = await start();
      void server.ended.then(end);
      return server;
    } catch (error) {
      end();
      throw error;
    }
  }

  #count(directory: string, change: 1 | -1): void {
    const servers = (this.#servers.get(directory) ?? 0) + change;
    if (servers > 0) this.#servers.set(directory, servers);
    else this.#servers.delete(directory);
  }
}
