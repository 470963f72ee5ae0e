import type { Reason } from "../src/operator/compute/words/reasons.ts";

/** A row for a person: the reasons with the same meaning, the meaning, and what to do; nothing where it says "". */
interface Explanation {
  reasons: readonly Reason[];
  meaning: string;
  todo: string;
}

/** Every reason of a Compute's conditions, for docs/reference.md. */
export const explanations: readonly Explanation[] = [
  {
    reasons: ["Active", "Idle", "Disabled"],
    meaning: "as declared; an idle compute is woken by its first connection",
    todo: "",
  },
  {
    reasons: ["Drifted"],
    meaning:
      "`driftPolicy: Report` and the service differs (`.status.drift`); or the service does not keep a deprecated field",
    todo: "change the spec, or set `Correct`; remove the deprecated field",
  },
  {
    reasons: ["Observed"],
    meaning:
      "`managementPolicy: Observe`: nothing is written to the service; what `Manage` would change is in `.status.drift`",
    todo: "set `Manage` to hand the endpoint over",
  },
  {
    reasons: ["WaitingForWindow"],
    meaning: "a change would cut connections and waits for a window (`.status.waiting`, `.status.nextWindow`)",
    todo: "nothing; or set the annotation `disruptionUntil` to have it sent now",
  },
  {
    reasons: ["Creating", "Starting", "Updating", "Moving", "Restarting", "Deleting"],
    meaning: "in progress",
    todo: "wait",
  },
  {
    reasons: ["ProjectBusy"],
    meaning: "the service runs other operations of the project (423)",
    todo: "wait; it is retried",
  },
  {
    reasons: ["RateLimited", "ServiceUnavailable"],
    meaning: "429, 5xx, no answer, or an invalid one",
    todo: "wait; check network and `baseURL` if it lasts",
  },
  {
    reasons: ["CreateUnknown"],
    meaning: "a create was sent and its outcome is unknown",
    todo: "wait up to `--create-settle`; the message says if more is needed",
  },
  {
    reasons: ["Unauthorized", "Forbidden"],
    meaning: "the key is refused, or may not do this",
    todo: "put a valid key into the Secret: it takes effect at once",
  },
  {
    reasons: ["ConnectionNotFound", "ConnectionNotReady"],
    meaning: "no such ServiceConnection, or it cannot be used",
    todo: "create or repair it: `kubectl describe sconn`",
  },
  {
    reasons: ["Expired"],
    meaning:
      "the Branch that `branchRef` names came to its end, as declared, and the endpoint with it: no failure; the condition `Expired` is there in place of `Ready`",
    todo: "nothing; delete it, or set `resetAt` on the Branch to have a fresh one",
  },
  {
    reasons: ["BranchNotReady"],
    meaning:
      "the Branch that `branchRef` names is missing, not ready, being deleted, or its branch is gone: nothing is created or moved",
    todo: "see the condition of the Branch",
  },
  {
    reasons: ["ProjectNotFound", "BranchNotFound"],
    meaning:
      "the service does not show it to this key, and it may still exist; or the branch has gone, and its endpoint with it; or no branch, or more than one, has the name in `branchName`",
    todo: "check the ids, and what the key can access",
  },
  {
    reasons: ["PrimaryExists"],
    meaning: "the branch has a primary that no Compute owns",
    todo: "adopt it (`spec.adopt`), delete it, or name another branch",
  },
  {
    reasons: ["FormerMembers"],
    meaning: "a pool's read replica that a former pool of this fleet, namespace and name created is still there",
    todo: "set `adoptFormer: true` on the pool, or delete it at the service",
  },
  {
    reasons: ["AdoptionRefused"],
    meaning:
      "the endpoint that `adopt` names is missing, on another branch, of another type, or another Compute's; or a restart is asked of one that only an annotation links",
    todo: "correct `spec.adopt`; for a restart, name the endpoint in it",
  },
  {
    reasons: ["Conflict"],
    meaning:
      "another Compute claims the same primary or endpoint, or two Computes want each other's branch; or the Secret that `connectionSecret` names belongs to something else",
    todo: "the message names the other object: delete or move one, or name another Secret",
  },
  {
    reasons: ["Rejected"],
    meaning: "the service refused the spec, or did not store a value that it accepted",
    todo: "change the spec",
  },
  {
    reasons: ["MovedOutside"],
    meaning: "the endpoint was moved to another branch outside the operator, as by a restore; it stays there",
    todo: "name that branch in the spec, or set `branchDrift: Correct`",
  },
  {
    reasons: ["SecretNotAllowed"],
    meaning: "the namespace that `connectionSecret` names does not take Secrets from this one; the endpoint is kept",
    todo: "[have it labelled](connect.md#another-namespace), or write the Secret here",
  },
  {
    reasons: ["WaitingForTurn"],
    meaning:
      "a change or restart that cuts connections waits for other members of the pool: at most `maxUnavailable` may be unavailable at a time",
    todo: "nothing; where a member stays not ready, see its condition, or raise `maxUnavailable`",
  },
  {
    reasons: ["OperationFailed"],
    meaning: "an operation of the operator failed; the message has action, id and failures",
    todo: "restart, change the spec, or ask the service",
  },
  {
    reasons: ["EndpointLost"],
    meaning: "deleted outside the operator; being created again, with new connection details",
    todo: "give applications the new host",
  },
  {
    reasons: ["MassLoss"],
    meaning: "too many endpoints are missing at once to be believable",
    todo: "check the connection; then [confirm it](how-to.md#ask-for-something-by-annotation)",
  },
  {
    reasons: ["Paused"],
    meaning: "the annotation `paused` is set",
    todo: "remove it",
  },
];
