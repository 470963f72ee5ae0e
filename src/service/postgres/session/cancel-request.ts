import { createConnection } from "node:net";

/**
 * Asks a server to end a statement, on a connection of its own. Resolves when the server has closed it. Our side stays
 * open until then: PgBouncer before 1.21 ends, and all its sessions with it, where whom it passes a request on for
 * leaves first.
 */
export function requestCancel(socket: string, packet: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const server = createConnection(socket);
    server.on("error", () => {}).once("close", () => resolve());
    // A server without a process for it says so: unread, that would keep the connection open.
    server.resume().write(packet);
  });
}
