import type { Endpoint } from "../../../api/endpoint.ts";
import { generationOf } from "../../objects/object.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { uidInSignature } from "../../resources/signature.ts";
import type { Answer, Failure } from "../../service-client/answer.ts";
import type { Written } from "../../service-client/client.ts";
import { type Outcome, shown } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { creating, inProgress } from "../words/conditions.ts";
import { created as createdMessages } from "../words/events.ts";
import { requests } from "../words/failures.ts";
import { type ExecuteContext, newestOf } from "./context.ts";
import { writeLink } from "./patch-metadata.ts";
import { recordFailedWrite } from "./unsent.ts";
import { outdated, writeRecord } from "./write-record.ts";

type Create = Extract<Action, { kind: "create" }>;

/** Record, finalizer, POST, link: in this order, so that the next term knows that a POST may have been sent. */
export async function createEndpoint(action: Create, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { state, clock, signal } = context;
  const { client, lister } = access;
  const { attributes, newest, entry = "" } = action;
  const { branch_id: branchID } = attributes;
  const disables = attributes.disabled === true;
  const fields = { operation: "create", branchID, ...(newest === undefined ? {} : { newest }) };
  const attempt = await writeRecord(
    { ...fields, creating: { message: creating.sending(branchID), entry }, holds: true, disables },
    context,
    access,
  );
  if (attempt === undefined) return outdated(action, context);
  const recorded = attempt.compute;
  const before = lister.observed?.endpoints ?? [];
  const answer = await attempt.send(
    () => client.createEndpoint(recorded.spec.projectID, { endpoint: attributes }, signal),
    (answered) => {
      const { endpoint: shows, failure } = meaningOfCreate(answered, action, before);
      return { kind: failure?.kind, made: shows?.id, shows };
    },
  );
  const { endpoint, failure } = meaningOfCreate(answer, action, before);
  if (attributes.disabled !== undefined) state.disableSent(clock.monotonic());
  if (endpoint === undefined || answer.kind !== "ok") {
    const doing = requests.create(branchIDOf(recorded));
    return recordFailedWrite(action, failure ?? noEndpoint, doing, recorded, context, access);
  }
  state.created(endpoint.id, recorded, entry);
  const proof = endpoint.name === attributes.name ? "signature" : "created";
  const linked = await writeLink({ endpointID: endpoint.id, proof }, newestOf(recorded, context), context);
  return created(action, { recorded, linked }, endpoint, answer.value.operations);
}

const noEndpoint: Failure = { kind: "ambiguous", message: "an answer to something else" };

/** Meaning of the answer to a POST: the endpoint that it made, or the reason why none is known. */
export function meaningOfCreate(
  answer: Answer<Written>,
  action: Create,
  before: readonly Pick<Endpoint, "id">[],
): { endpoint?: Endpoint; failure?: Failure } {
  if (answer.kind !== "ok") return { failure: answer };
  const { endpoint } = answer.value;
  // An endpoint that was there already is not what this POST created.
  const isNew = endpoint !== undefined && !before.some(({ id }) => id === endpoint.id);
  return isNew && isOfThis(action, endpoint) ? { endpoint } : { failure: noEndpoint };
}

/** True if the answer shows an endpoint as asked for: a link to that of another Compute would one day delete it. */
function isOfThis({ attributes }: Create, { branch_id, type, name }: Endpoint): boolean {
  if (branch_id !== attributes.branch_id || type !== attributes.type) return false;
  return name === attributes.name || uidInSignature(name ?? "") === undefined;
}

function created(
  { lost, entry = "" }: Create,
  { recorded, linked }: { recorded: Compute; linked: Compute },
  endpoint: Endpoint,
  operations: Written["operations"],
): Outcome {
  const message = lost ? createdMessages.replacement(endpoint.id) : createdMessages.first(endpoint.id);
  return shown(linked, "Creating", inProgress("Creating", endpoint.id), {
    // A change of the spec during the POST is still to be sent.
    effect: { kind: "accepted", generation: generationOf(recorded), entry, endpoint, operations },
    events: [{ type: "Normal", reason: "Created", message }],
  });
}
