import { jsonReply } from "../../../src/service/http/message.ts";

/** How the service refuses a request. */
export function refusal(status: number, message: string) {
  return jsonReply(status, { request_id: "r", code: "", message });
}
