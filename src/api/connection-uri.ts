import { z } from "zod";
import { loose } from "./loose.ts";

/** `GET …/connection_uri` */
export const ConnectionUriAnswer = loose({ uri: z.string().min(1) });
export type ConnectionUriAnswer = z.infer<typeof ConnectionUriAnswer>;
