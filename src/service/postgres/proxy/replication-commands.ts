import { MessageFilter } from "../session/messages.ts";
import { Rejection } from "../session/rejection.ts";

const queryType = 0x51;

/** The longest statement of a client that replicates, in bytes: its commands are short. */
const longestStatement = 1024 ** 2;

/**
 * Follows the messages of a client that replicates. Refuses to make a slot whose output plugin is a path: the server
 * would load that file. What the functions of SQL take is checked in the server (`catalog/guards.ts`). Refuses what
 * copies the server as a whole, its log and its roles' passwords included: a client replicates logically.
 */
export function replicationCommands(): MessageFilter {
  return new MessageFilter({
    holds(type, length) {
      if (type === queryType && length > longestStatement) {
        throw new Rejection("54000", `a statement of a client that replicates has at most ${longestStatement} bytes`);
      }
      return type === queryType;
    },
    replaced(_, body) {
      refuse(body.toString("latin1"));
      return undefined;
    },
  });
}

const copiesServer = /^[ \t\n\r\f\v]*(base_backup|upload_manifest|start_replication)/i;
const readsSlot = /^[ \t\n\r\f\v]*start_replication\s+slot\s+("[^"]*"|[a-z0-9_]+)\s+logical/i;

function refuse(statement: string): void {
  if (copiesServer.test(statement) && !readsSlot.test(statement)) {
    throw new Rejection("42501", "a client replicates logically: START_REPLICATION SLOT name LOGICAL");
  }
  // No name of a slot, no plugin that lies where plugins belong, and no option has a slash.
  if (!/^[ \t\n\r\f\v]*create_replication_slot/i.test(statement) || !statement.includes("/")) return;
  throw new Rejection("42501", "the output plugin of a replication slot is a name without a path, such as pgoutput");
}
