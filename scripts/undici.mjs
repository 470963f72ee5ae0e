// What the bundle has of undici: pools of connections and proxies. Its own index loads caches, mocks, WebSockets and a
// whole `fetch`, which cost every process three megabytes. Plain JavaScript, because undici has no types for its parts.
import api from "../node_modules/undici/lib/api/index.js";
import Agent from "../node_modules/undici/lib/dispatcher/agent.js";
import Dispatcher from "../node_modules/undici/lib/dispatcher/dispatcher.js";
import ProxyAgent from "../node_modules/undici/lib/dispatcher/proxy-agent.js";

// As undici's index does.
Object.assign(Dispatcher.prototype, api);

/** Only client-node's typed clients call it, which the operator does not use. */
const fetch = (...request) => globalThis.fetch(...request);

export { Agent, fetch, ProxyAgent };
