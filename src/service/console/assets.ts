import { hash } from "node:crypto";
import type { ServiceReply } from "../http/message.ts";

/** A file that pages refer to. */
export interface Asset {
  /** Depends on the content, so browsers may cache it forever. */
  path: string;
  reply: ServiceReply;
}

export function assetOf(type: "css" | "js", body: string): Asset {
  return {
    path: `/app/console-${hash("sha256", body).slice(0, 8)}.${type}`,
    reply: {
      status: 200,
      headers: {
        "content-type": `text/${type === "js" ? "javascript" : type}; charset=utf-8`,
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
      },
      body,
    },
  };
}
