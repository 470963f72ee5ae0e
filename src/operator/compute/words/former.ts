// Messages of conditions and events about endpoints that a former Compute of this namespace and name made.

export const former = {
  primary: (branchID: string, why: string, endpointID: string) =>
    `The primary of branch ${branchID}, endpoint ${endpointID}, was created by a former Compute of this fleet, namespace and name, and is not taken over: ${why} To have a new one created, delete it at the service.`,
  primaryOfOtherFleet: (branchID: string, endpointID: string) =>
    `The primary of branch ${branchID}, endpoint ${endpointID}, was created by a Compute of this namespace and name in another fleet, and is not taken over. Start the operator with the --fleet of that one, or set spec.adopt.endpointID.`,
  beside: (why: string, endpointIDs: readonly string[]) =>
    `Another endpoint is created beside ${endpointIDs.join(", ")}, created by a former Compute of this fleet, namespace and name: ${why} Delete what is not needed at the service.`,
  besideOtherFleet: (endpointIDs: readonly string[]) =>
    `Another endpoint is created beside ${endpointIDs.join(", ")}, created by a Compute of this namespace and name in another fleet. If the operator is to keep that one, start it with its --fleet.`,
  member: (pool: string, endpointIDs: readonly string[]) =>
    `A former pool of this fleet, namespace and name created this read replica (${endpointIDs.join(", ")}), so no other is created. Set spec.adoptFormer: true on ComputePool ${pool} to take its replicas over, or delete them at the service.`,
  /** Reasons why an endpoint of this fleet, namespace and name is not taken over. */
  why: {
    notAsked: "spec.adopt is not {former: true}.",
    wasLinked: "this Compute had another endpoint before.",
    several: "there is more than one.",
    otherType: (theirs: string) => `it is of type ${theirs}.`,
    otherBranch: (theirs: string) => `it is on branch ${theirs}.`,
    taken: (owner: string) => `${owner} has it.`,
  },
};
