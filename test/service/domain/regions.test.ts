import { expect, it } from "vitest";
import { z } from "zod";
import { Shop } from "../support/shop.ts";

const Regions = z.array(
  z.object({
    region_id: z.string(),
    name: z.string(),
    default: z.boolean(),
    geo_lat: z.string(),
    geo_long: z.string(),
  }),
);

it("the regions are those of the public service with their places, and one of them is the default", () => {
  const regions = Regions.parse(new Shop().ana("GET /regions").body["regions"]);
  const lines = regions.map((region) =>
    [region.region_id, region.name, region.geo_lat, region.geo_long, ...(region.default ? ["default"] : [])].join(
      " | ",
    ),
  );
  expect(lines).toEqual([
    "aws-us-east-1 | AWS US East 1 (N. Virginia) | 38.13 | -78.45",
    "aws-us-east-2 | AWS US East 2 (Ohio) | 40.36 | -82.99 | default",
    "aws-us-west-2 | AWS US West 2 (Oregon) | 46.15 | -123.88",
    "aws-eu-central-1 | AWS Europe Central 1 (Frankfurt) | 50.12 | 8.68",
    "aws-eu-west-2 | AWS Europe West 2 (London) | 51.51 | -0.13",
    "aws-ap-southeast-1 | AWS Asia Pacific 1 (Singapore) | 1.37 | 103.80",
    "aws-ap-southeast-2 | AWS Asia Pacific 2 (Sydney) | -33.86 | 151.20",
    "aws-sa-east-1 | AWS South America East 1 (S\u00e3o Paulo) | -23.54 | -46.63",
    "azure-eastus2 | Azure East US 2 (Virginia) | 36.67 | -78.39",
    "azure-gwc | Azure Germany West Central (Frankfurt) | 50.11 | 8.68",
    "azure-westus3 | Azure West US 3 (Arizona) | 33.45 | -112.07",
  ]);
});
