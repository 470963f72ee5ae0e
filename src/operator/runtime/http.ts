import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { unlessAborted } from "./clock.ts";
import { OperationalError } from "./operational-error.ts";
import { hourlyMs } from "./waits.ts";

/** The body is larger than allowed. Sending the same request again would not help. */
export class BodyTooLarge extends OperationalError {
  override name = "BodyTooLarge";
}

/** The whole body as text. `onSize` is called with the size so far. Throws if the body is cut off or too large. */
export async function bodyText(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  onSize: (bytes: number) => void = () => {},
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new BodyTooLarge(`the answer is larger than ${maxBytes} bytes`);
    onSize(size);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The wait that a `Retry-After` header asks for, in milliseconds and at most an hour. A header that is neither seconds
 * nor a date to come asks for none, so the caller uses its own back-off.
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return ms >= 0 ? Math.min(ms, hourlyMs) : undefined;
}

/**
 * Sends a request. It ends with its signal while it waits for a connection too: undici would leave it waiting until the
 * requests before it have ended, and then not send it.
 */
export async function send(
  way: Dispatcher,
  request: Dispatcher.RequestOptions & { signal: AbortSignal },
): Promise<Dispatcher.ResponseData> {
  request.signal.throwIfAborted();
  return unlessAborted(way.request(request), request.signal);
}

/** The connections to a server, direct or through a proxy. */
export function connectionsTo(
  tls: Readonly<Record<string, unknown>>,
  proxy: string | undefined,
  limits: Agent.Options,
): Dispatcher {
  // Verification is set explicitly, so that only `tls` can turn it off and never a variable of the environment.
  const verified = { rejectUnauthorized: true };
  const given = { ...verified, ...Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined)) };
  const common = { ...limits, allowH2: false };
  if (proxy === undefined) return new Agent({ ...common, connect: given });
  return new ProxyAgent({ ...common, uri: proxy, proxyTls: verified, requestTls: given });
}
