import { afterEach, beforeEach } from "vitest";
import { httpServiceTransport } from "../../../src/operator/service-client/http-transport.ts";
import { HostileServer } from "../kube/hostile-server.ts";

export interface HostileService {
  server: HostileServer;
  transport: ReturnType<typeof httpServiceTransport>;
  baseURL: string;
}

/** Gives each test of a file a hostile service and the operator's transport to it; `now`: its wall clock. */
export function useHostileService(now: () => number, use: (service: HostileService) => void): void {
  let service: HostileService | undefined;
  beforeEach(async () => {
    const server = new HostileServer();
    const baseURL = `${await server.start()}/api/v2`;
    service = { server, baseURL, transport: httpServiceTransport({ userAgent: "a-test", now }) };
    use(service);
  });
  afterEach(async () => {
    await service?.server.stop();
    await service?.transport.close();
  });
}
