// Starts the service with real Postgres for the tests of an application, by testcontainers 11: the image is built from a
// clone of this repository. Answers the base URL of the API; computes are reached at port 5432 of this machine.
import { GenericContainer, Wait } from "testcontainers";

export async function startService(clone, seed) {
  const image = await GenericContainer.fromDockerfile(clone).withTarget("service").build();
  const service = await image
    .withExposedPorts(8090, { container: 5432, host: 5432 })
    .withCommand([
      "service",
      "--host=0.0.0.0",
      "--postgres",
      "--postgres-bin=/usr/lib/postgresql/*/bin",
      "--seed=/seed.yaml",
      "--no-rate-limits",
    ])
    .withCopyFilesToContainer([{ source: seed, target: "/seed.yaml" }])
    .withWaitStrategy(Wait.forHttp("/healthz", 8090))
    .start();
  return { service, api: `http://${service.getHost()}:${service.getMappedPort(8090)}/api/v2` };
}
