// What the bundle has of client-node's generated code: its index loads every model and call of the Kubernetes API.
export { createConfiguration } from "../node_modules/@kubernetes/client-node/dist/gen/configuration.js";
export { ServerConfiguration } from "../node_modules/@kubernetes/client-node/dist/gen/servers.js";
