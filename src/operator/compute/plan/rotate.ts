import { dueRotation, isStillFor } from "../../connection-secret/rotation.ts";
import { adoptionRefused } from "../words/conditions.ts";
import type { PlanRule } from "./action.ts";

/**
 * Changes the password of the connection Secret: by its age, or for a new value of `passwordRotationAt`. What is due is
 * planned from the cached Secret, and decided again from the Secret that the API server has right before the call.
 *
 *   roles | password  | due
 *   two   | any       | the other role is reset
 *   one   | known     | that role is reset
 *   one   | doubted   | nothing is sent before the password was read
 *   one   | unstored  | that role is reset; after a reset without an answer at once: nothing else shows the password
 */
export const rotatePassword: PlanRule = (
  { compute, annotations, links, secret, serviceNow: now },
  { password, rotated },
) => {
  const wanted = compute.spec.connectionSecret;
  if (links.link === undefined || wanted === undefined || secret === undefined) return undefined;
  const { endpoint, proof } = links.link;
  if (endpoint.type !== "read_write") return undefined;
  if (password?.reset !== undefined && isStillFor(password.reset, wanted, endpoint)) return undefined;
  const due = dueRotation(wanted, secret.record, annotations.passwordRotationAt, now, rotated);
  if (due === undefined) return undefined;
  const { state = "doubted", isUnanswered = false } = password ?? {};
  if (wanted.roles === undefined && state === "doubted") return undefined;
  const { id: endpointID, branch_id: branchID } = endpoint;
  // A Secret whose password nothing shows is put right by another reset alone.
  const mayBeDead = isUnanswered || (state === "unstored" && secret.record.isSent === true);
  const isUrgent = due.request !== undefined || (mayBeDead && wanted.roles === undefined);
  if (!isUrgent && !secret.mayCut) return undefined;
  // A reset cuts connections to what may be another's: a link without proof is enough for a PATCH alone.
  if (proof === "none") {
    return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.rotationUnproved(endpointID) };
  }
  return { kind: "rotate", endpointID, branchID, ...due, now };
};
