/** Where a request comes from that does not say. */
export const loopback = "127.0.0.1";

/** Whether an address is of this machine alone. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.)/.test(address);
}
