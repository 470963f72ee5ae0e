import { type Fields, type Kind, template } from "./manifest.ts";

/** A change that the API server refuses of an object created with `from`, and one that it lets pass. */
export interface ChangeCase {
  readonly kind: Kind;
  readonly rule: string;
  readonly from: Fields;
  readonly refused: Fields;
  readonly message: string;
  readonly passes: Fields;
}

export const changeCases: readonly ChangeCase[] = [
  {
    kind: "Compute",
    rule: "projectID stays",
    from: {},
    refused: { projectID: "other-project-1" },
    message: "projectID is immutable: make another object for another project",
    passes: { branchID: "br-preview-1" },
  },
  {
    kind: "Compute",
    rule: "type stays",
    from: {},
    refused: { type: "read_only" },
    message: "type is immutable: make another Compute for another type",
    passes: { type: "read_write" },
  },
  {
    kind: "Compute",
    rule: "type does not fall back to its default",
    from: { type: "read_only" },
    refused: { type: undefined },
    message: "type is immutable",
    passes: { type: "read_only", connectionRef: { name: "other" } },
  },
  {
    kind: "ComputePool",
    rule: "the template's project stays",
    from: {},
    refused: template({ projectID: "other-project-1" }),
    message: "projectID is immutable",
    passes: { replicas: 5, ...template({ connectionRef: { name: "other" }, branchID: "br-preview-1" }) },
  },
  {
    kind: "Branch",
    rule: "the type of its compute stays",
    from: { compute: { type: "read_only" } },
    refused: { compute: { type: "read_write" } },
    message: "compute.type is immutable: make another Compute with branchRef for another type",
    passes: { compute: { type: "read_only", disabled: true } },
  },
  {
    kind: "Branch",
    rule: "the type of its compute does not fall back to its default",
    from: { compute: { type: "read_only" } },
    refused: { compute: {} },
    message: "compute.type is immutable",
    passes: { compute: undefined },
  },
  {
    kind: "Branch",
    rule: "the type of its compute is no other than its default",
    from: { compute: {} },
    refused: { compute: { type: "read_only" } },
    message: "compute.type is immutable",
    passes: { compute: { type: "read_write" } },
  },
  {
    kind: "Branch",
    rule: "managementPolicy stays",
    from: { managementPolicy: "Observe", adopt: { byName: true }, expiry: { never: true } },
    refused: { managementPolicy: undefined },
    message: "managementPolicy is immutable: make another object to manage, or to observe, the branch",
    passes: { managementPolicy: "Observe", adopt: { branchID: "br-one" } },
  },
  {
    kind: "Branch",
    rule: "managementPolicy does not come later",
    from: { adopt: { byName: true }, expiry: { never: true } },
    refused: { managementPolicy: "Observe" },
    message: "managementPolicy is immutable",
    passes: { managementPolicy: "Manage" },
  },
  {
    kind: "Compute",
    rule: "an observed Compute is handed over with its Secret where it was",
    from: { managementPolicy: "Observe", connectionSecret: { name: "shop-db" } },
    refused: { managementPolicy: "Observe", connectionSecret: { name: "shop-db", namespace: "web" } },
    message: "connectionSecret.namespace needs managementPolicy: Manage",
    passes: { managementPolicy: "Manage", connectionSecret: { name: "shop-db", namespace: "web" } },
  },
];
