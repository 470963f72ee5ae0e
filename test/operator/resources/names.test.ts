import { expect, test } from "vitest";
import * as names from "../../../src/operator/resources/names.ts";

test("the names that stand in clusters and at the service stay what they are from version to version", () => {
  expect({ ...names }).toEqual({
    GROUP: "compute-operator.dev",
    VERSION: "v1alpha1",
    API_VERSION: "compute-operator.dev/v1alpha1",
    OPERATOR_NAME: "compute-operator",
    INSTALL_NAMESPACE: "compute-operator-system",
    API_KEY_SECRET_TYPE: "compute-operator.dev/api-key",
    SECRET_OF: "compute-operator.dev/secret-of",
    SECRETS_FROM: "secrets-from.compute-operator.dev",
    CONNECTION_SECRET_TYPE: "servicebinding.io/postgresql",
    finalizers: {
      endpoint: "compute-operator.dev/endpoint",
      branch: "compute-operator.dev/branch",
      inUse: "compute-operator.dev/in-use",
    },
    annotations: {
      disruptionUntil: "compute-operator.dev/disruptionUntil",
      endpointID: "compute-operator.dev/endpoint-id",
      restartedAt: "compute-operator.dev/restartedAt",
      passwordRotationAt: "compute-operator.dev/passwordRotationAt",
      resetAt: "compute-operator.dev/resetAt",
      paused: "compute-operator.dev/paused",
      reconcileRequestedAt: "compute-operator.dev/reconcileRequestedAt",
      confirmLoss: "compute-operator.dev/confirmLoss",
    },
    noteKeys: {
      uid: "compute-operator.dev/uid",
      fleet: "compute-operator.dev/fleet",
      object: "compute-operator.dev/object",
    },
    labels: { pool: "compute-operator.dev/pool", compute: "compute-operator.dev/compute" },
  });
});
