import { z } from "zod";
import { EndpointCreate, EndpointPatch } from "../../api/endpoint.ts";
import { ComputeSettings } from "../store/details.ts";

/** The fields that the service uses from the bodies that change computes; see ../domain/requests.ts. */

const settings = ComputeSettings.optional();

/**
 * A text that a create request may omit. Clients written in Go then send an empty one, which the public API accepts.
 */
export function optionalText<Text extends string>(schema: z.ZodType<Text>) {
  return z.preprocess((value) => (value === "" ? undefined : value), schema.optional()).optional();
}

/** The fields of an object, at any depth, that are no empty texts: those count as omitted. */
export function withoutEmptyTexts(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? fieldsWithoutEmptyTexts(value) : value;
}

export function fieldsWithoutEmptyTexts(value: object): Record<string, unknown> {
  const fields = Object.entries(value).filter(([, field]) => field !== "");
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutEmptyTexts(field)]));
}

const { shape: newEndpoint } = EndpointCreate.shape.endpoint;
export const provisioner = optionalText(newEndpoint.provisioner.unwrap());

/** The body of `POST …/endpoints`. */
export const EndpointCreateBody = z.object({
  endpoint: z.object({
    ...newEndpoint,
    region_id: optionalText(newEndpoint.region_id.unwrap()),
    provisioner,
    settings,
  }),
});
export type NewEndpoint = z.infer<typeof EndpointCreateBody>["endpoint"];

/** A compute in the body that creates its branch. */
export const EndpointOfBranch = z.object({
  ...EndpointCreate.shape.endpoint.omit({ branch_id: true, region_id: true, disabled: true }).shape,
  provisioner,
  settings,
});

/** The body of `PATCH …/endpoints/{id}`. */
export const EndpointPatchBody = z.object({
  endpoint: z.object({ ...EndpointPatch.shape.endpoint.shape, settings }),
});
export type ChangedEndpoint = z.infer<typeof EndpointPatchBody>["endpoint"];
