import { API_VERSION, annotations, finalizers } from "../../src/operator/resources/names.ts";
import { projectID, type Service } from "./service.ts";
import { type Configuration, type Facts, type Kube, ourUID } from "./terms.ts";

export function firstObject({ type, adopt, spec }: Configuration): Kube {
  return {
    apiVersion: API_VERSION,
    kind: "Compute",
    metadata: {
      name: "shop",
      namespace: "team",
      uid: ourUID,
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: {
      projectID,
      branchID: "br-0",
      type,
      connectionRef: { name: "default" },
      ...(adopt === undefined ? {} : { adopt }),
      ...spec,
    },
    status: { observedGeneration: -1 },
  };
}

interface Scene {
  object: Kube;
  service: Service;
  phase: number;
  facts: Facts;
}

interface Change {
  object?: Kube | "gone" | undefined;
  service?: Service;
  facts?: Partial<Facts>;
}

/** What a person or another program may do; each thing it may come to, by a name. */
export interface Person {
  name: string;
  /** The budget that it uses. */
  needs: string;
  change: (scene: Scene, configuration: Configuration) => [string, Change][];
}

export const people: readonly Person[] = [
  {
    name: "kubectl replace drops finalizer and annotations",
    needs: "replace",
    change: ({ object }) => {
      const { annotations: _, finalizers: held = [], ...metadata } = object.metadata;
      // The finalizers of an object that is being deleted cannot be added, but they can be dropped.
      if (held.length === 0 && object.metadata.annotations === undefined) return [];
      if (metadata.deletionTimestamp !== undefined) return [];
      return [["", { object: { ...object, metadata } }]];
    },
  },
  {
    name: "somebody wipes the status",
    needs: "wipe",
    change: ({ object }) => [["", { object: { ...object, status: {} } }]],
  },
  {
    name: "somebody writes a label",
    needs: "bump",
    change: ({ object }) => [
      [
        "",
        {
          object: {
            ...object,
            metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, note: "x" } },
          },
        },
      ],
    ],
  },
  {
    name: "kubectl delete",
    needs: "delete",
    change: ({ object }) => {
      const { metadata } = object;
      if (metadata.deletionTimestamp !== undefined) return [];
      if (!(metadata.finalizers ?? []).includes(finalizers.endpoint))
        return [[" at once", { object: "gone", facts: { isExcused: true } }]];
      return [["", { object: { ...object, metadata: { ...metadata, deletionTimestamp: "2026-01-02T00:00:00Z" } } }]];
    },
  },
  {
    name: "somebody sets deletionPolicy: Retain",
    needs: "retain",
    change: ({ object }) => edited(object, { deletionPolicy: "Retain" }),
  },
  {
    name: "somebody edits the branch",
    needs: "edit",
    change: ({ object }) => edited(object, { branchID: object.spec.branchID === "br-0" ? "br-1" : "br-0" }),
  },
  {
    name: "somebody edits disabled",
    needs: "disable",
    change: ({ object }) => {
      const { disabled, ...spec } = object.spec;
      if (disabled === undefined) return edited(object, { disabled: true });
      return [
        [
          "",
          { object: { ...object, spec, metadata: { ...object.metadata, generation: object.metadata.generation + 1 } } },
        ],
      ];
    },
  },
  {
    name: "somebody edits the connection",
    needs: "reconnect",
    change: ({ object }) =>
      edited(object, {
        connectionRef: { name: object.spec.connectionRef.name === "default" ? "elsewhere" : "default" },
      }),
  },
  {
    name: "somebody asks for a restart",
    needs: "restart",
    change: ({ object }) =>
      annotated(
        object,
        annotations.restartedAt,
        `r${1 + Number((object.metadata.annotations?.[annotations.restartedAt] ?? "r0").slice(1))}`,
      ),
  },
  {
    name: "somebody types endpoint-id",
    needs: "type",
    change: ({ object, service }) =>
      service.endpoints.flatMap(({ id }) =>
        annotated(object, annotations.endpointID, `ep-${id}`).map(([, change]): [string, Change] => [
          ` ep-${id}`,
          change,
        ]),
      ),
  },
  {
    name: "somebody gives it to the other shard",
    needs: "relabel",
    change: ({ object }) => {
      const shard = object.metadata.labels?.["shard"] === "1" ? "0" : "1";
      return [["", { object: { ...object, metadata: { ...object.metadata, labels: { shard } } } }]];
    },
  },
  {
    name: "somebody deletes",
    needs: "kill",
    change: ({ service }) =>
      service.endpoints.map(({ id }) => [
        ` ep-${id} at the service`,
        {
          service: { ...service, endpoints: service.endpoints.filter((one) => one.id !== id) },
          facts: { isMeddledWith: true },
        },
      ]),
  },
  {
    name: "somebody moves",
    needs: "move",
    change: ({ service }) =>
      service.endpoints.map(({ id }) => [
        ` ep-${id} to another branch`,
        {
          service: {
            ...service,
            endpoints: service.endpoints.map((one) =>
              one.id === id ? { ...one, branch: one.branch === "br-2" ? "br-0" : "br-2" } : one,
            ),
          },
          facts: { isMeddledWith: true },
        },
      ]),
  },
];

export function edited(object: Kube, spec: Partial<Kube["spec"]>): [string, Change][] {
  const { metadata } = object;
  return [
    [
      "",
      {
        object: {
          ...object,
          spec: { ...object.spec, ...spec },
          metadata: { ...metadata, generation: metadata.generation + 1 },
        },
      },
    ],
  ];
}

export function annotated(object: Kube, key: string, value: string): [string, Change][] {
  if (object.metadata.annotations?.[key] === value) return [];
  const { metadata } = object;
  return [
    ["", { object: { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [key]: value } } } }],
  ];
}
