import type { Duplex } from "node:stream";
import { Rejection } from "../session/rejection.ts";

/** The next chunk of a stream. Rejects with `Rejection` when it closes before. */
export function nextChunk(stream: Duplex): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      stream.off("data", onData);
      stream.off("close", onClose);
      stream.pause();
    };
    const onData = (chunk: Buffer) => {
      stop();
      resolve(chunk);
    };
    const onClose = () => {
      stop();
      reject(new Rejection("08006", "the connection was closed"));
    };
    if (stream.destroyed) {
      onClose();
      return;
    }
    stream.on("data", onData);
    stream.once("close", onClose);
    stream.resume();
  });
}
