import { expect, it } from "vitest";
import { costOf } from "./cost.ts";

const request = (method: string, path = "/api/v2/projects/shop/endpoints") => ({
  method,
  path,
  body: "",
  arrivedAt: 0,
});

it.each([
  [[], "no writes, no reads"],
  [[request("POST"), request("GET")], "1 write (POST /projects/shop/endpoints), 1 read"],
  [[request("POST"), request("POST")], "2 writes (2 × POST /projects/shop/endpoints), no reads"],
  [
    [request("PATCH", "/api/v2/projects/shop/endpoints/ep-a"), request("POST"), request("GET"), request("GET")],
    "2 writes (PATCH /projects/shop/endpoints/ep-a, POST /projects/shop/endpoints), 2 reads",
  ],
])("%# says what a step cost the service", (requests, words) => {
  expect(costOf(requests)).toBe(words);
});
