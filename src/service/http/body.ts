import type { IncomingMessage } from "node:http";
import { refusals } from "../refusal.ts";
import type { Holding } from "../sharing/shares.ts";
import { type JsonLimits, JsonSize } from "./json-size.ts";

/** The longest request body that is read, in bytes, but for SQL. */
export const longestBody = 1_000_000;

/** The longest body of somebody who has not logged in, in bytes: that of a form to sign in. */
export const longestOfStranger = 10_000;

/** Number of pieces of a body that may be small, and the bytes that they have on average beyond that. */
const tinyPieces = { most: 1000, bytes: 64 };

/** The part of a body that is kept. */
export interface BodyRoom {
  /** Absent where the answer depends on nothing in the body: what comes is dropped. */
  holding?: Holding | undefined;
  /** Bytes. */
  longest: number;
  /** Counted as the bytes come, where they are JSON that is long. */
  limits?: JsonLimits;
}

/**
 * Reads a request's body to its end, and keeps it where there is room for it, for which a patient holding waits.
 * Rejects with `Refusal` as soon as it is known to be too long, to hold too much or to have no room: the rest is not
 * kept. Rejects if it is cut off, also where that was before. Bytes that are no UTF-8 are refused: read as text, they
 * would become others.
 */
export function readBody(incoming: IncomingMessage, { holding, longest, limits }: BodyRoom): Promise<string> {
  const { "content-length": stated, "content-encoding": coding = "" } = incoming.headers;
  if (Number(stated) > longest) return Promise.reject(refusals.bodyTooLarge(longest));
  if (holding && !/^(identity)?$/i.test(coding)) return Promise.reject(refusals.bodyEncoded());
  // A request that was cut off sends no more, not even its end.
  if (incoming.destroyed) return Promise.reject(new Error("the client has left"));
  return new Promise((resolve, reject) => {
    // Piece by piece: the text of a long body in one go would hold the loop.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const size = limits && new JsonSize(limits);
    let text = "";
    let length = 0;
    let isRefused = false;
    let waiting: Promise<void> | undefined;
    const refuse = (reason: Error) => {
      isRefused = true;
      text = "";
      reject(reason);
    };
    const decode = (chunk?: Buffer) => {
      try {
        text += decoder.decode(chunk, { stream: chunk !== undefined });
      } catch {
        refuse(refusals.invalid("the request body is not UTF-8"));
      }
    };
    const keep = (chunk: Buffer) => {
      const excess = size?.push(chunk);
      if (excess !== undefined) refuse(refusals.invalid(`the request body has ${excess}`));
      else decode(chunk);
    };
    const waitFor = async (room: Holding, chunk: Buffer) => {
      if (await room.room(chunk.length)) keep(chunk);
      else refuse(refusals.noRoomForBytes());
      incoming.resume();
    };
    const read = (chunk: Buffer) => {
      if (isRefused) return undefined;
      length += chunk.length;
      if (length > longest) return refuse(refusals.bodyTooLarge(longest));
      if (!holding) return undefined;
      if (holding.take(chunk.length)) return keep(chunk);
      incoming.pause();
      waiting = waitFor(holding, chunk);
      return undefined;
    };
    // The end comes although the last chunk waits.
    const end = async () => {
      await waiting;
      decode();
      resolve(text);
    };
    incoming.on("data", read);
    incoming.once("end", () => void end());
    incoming.once("error", reject);
    // A request that is destroyed here has neither an end nor an error.
    incoming.once("close", () => incoming.readableEnded || reject(new Error("the connection was ended")));
  });
}

/**
 * Ends the connection of a client that sends a long body in tiny pieces, kept or dropped: each costs as much as a whole
 * chunk of bytes does. They are counted as Node takes them out of a chunk, and not when they are read, after all of it.
 */
export function endTinyPieces(incoming: IncomingMessage): void {
  const push = incoming.push.bind(incoming);
  let pieces = 0;
  let length = 0;
  incoming.push = (piece: Buffer | null) => {
    pieces += 1;
    length += piece?.length ?? 0;
    if (pieces > tinyPieces.most && length < pieces * tinyPieces.bytes) incoming.destroy();
    return !incoming.destroyed && push(piece);
  };
}
