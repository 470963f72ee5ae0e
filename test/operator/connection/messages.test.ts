import { expect, test } from "vitest";
import * as messages from "../../../src/operator/connection/messages.ts";

const { authenticated, unauthorized, unreachable, notAllowed, invalidSecret } = messages;
const { connectionNotFound, connectionNotReady, deleting, secretNotFound } = messages;
const key = "Put the API key alone there: no spaces, ASCII only.";
const created =
  'Create it with that type and the API key under "KEY"; delete one of another type first, because its type cannot be changed.';

test.each<[string, string]>([
  [authenticated.unlisted("SAID", undefined), "The projects of the key cannot be listed: SAID."],
  [authenticated.unlisted("SAID", "Do it."), "The projects of the key cannot be listed: SAID. Do it."],
  [
    unauthorized.connection("SAID"),
    "The service refused the API key: SAID. Put a valid key into the Secret; until then only an occasional probe is sent.",
  ],
  [
    unauthorized.compute("CONNECTION", "SECRET", "SAID"),
    'The service refused the API key of CONNECTION (SAID). Put a valid key into Secret "SECRET".',
  ],
  [
    unreachable.noUsableAnswer("SAID"),
    "The service gave no usable answer: SAID. Retried automatically; check spec.baseURL and the network.",
  ],
  [
    unreachable.caBundle("WHICH"),
    "WHICH in spec.caBundle cannot be read. Put complete certificates there, each from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----.",
  ],
  [
    notAllowed.baseURL("URL", ["ONE", "TWO"]),
    "This operator does not allow spec.baseURL URL. Use one of ONE, TWO, or have an administrator allow it with --allowed-base-url.",
  ],
  [
    notAllowed.finalizer("SAID"),
    "The Kubernetes API server refused the operator's finalizer on this connection or its Secret: SAID. Nothing is sent to the service without it: change the policy that refuses the patch; retried automatically.",
  ],
  [
    secretNotFound("NAME", "KEY"),
    `There is no Secret "NAME" of type compute-operator.dev/api-key in this namespace. ${created}`,
  ],
  [
    secretNotFound("NAME", "KEY", "PLACE"),
    `There is no Secret "NAME" of type compute-operator.dev/api-key in namespace "PLACE". ${created}`,
  ],
  [invalidSecret.noKey("NAME", "KEY"), `Secret "NAME" has no key "KEY". ${key}`],
  [invalidSecret.empty("NAME", "KEY"), `Secret "NAME" is empty under "KEY". ${key}`],
  [
    invalidSecret.unusable("NAME", "KEY", "with spaces in it"),
    `Secret "NAME" holds no API key under "KEY", but a text with spaces in it. ${key}`,
  ],
  [
    connectionNotFound.inNamespace("NAME", "SPACE"),
    'There is no ServiceConnection "NAME" in namespace "SPACE". Create it, or name another in spec.connectionRef.',
  ],
  [
    connectionNotFound.inCluster("NAME"),
    'There is no ClusterServiceConnection "NAME". Have an administrator create it, or name another in spec.connectionRef.',
  ],
  [connectionNotReady.refused("CONNECTION", "WHY"), "CONNECTION: WHY"],
  [
    connectionNotReady.projectNotAllowed("CONNECTION", "PROJECT"),
    "CONNECTION does not allow project PROJECT. Add it to spec.allowedProjects of the connection, or name another connection.",
  ],
  [
    connectionNotReady.notSelected("CONNECTION", "SPACE"),
    'CONNECTION does not select namespace "SPACE". Nothing is sent, deletion included, until an administrator lets spec.namespaceSelector match it, or spec.deletionPolicy is Retain on deletion.',
  ],
  [
    connectionNotReady.namespacesUnread("CONNECTION"),
    "CONNECTION selects namespaces by label, and the operator may not read namespaces. Have an administrator bind the ClusterRole of the operator for ClusterServiceConnections.",
  ],
  [
    deleting.endsAutomatically(undefined),
    "Deletion waits for the objects that use this connection: they are being deleted, and need it for that.",
  ],
  [
    deleting.endsAutomatically("SECRET"),
    'Deletion of Secret "SECRET" waits for the objects that use this connection: they are being deleted, and need it for that.',
  ],
  [
    deleting.inUse(undefined, false, "NAMES"),
    "Deletion waits until nothing uses this connection. Delete its users (NAMES), or name another connection in their spec.connectionRef.",
  ],
  [
    deleting.inUse("SECRET", true, "NAMES"),
    'Deletion of Secret "SECRET" waits until nothing uses this connection. Name another Secret in spec.apiKeySecretRef, delete its users (NAMES), or name another connection in their spec.connectionRef (of a ComputePool: spec.template.connectionRef).',
  ],
])("a message about a connection names what it is about: %s", (said, expected) => {
  expect(said).toBe(expected);
});
