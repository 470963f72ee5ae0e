import { z } from "zod";
import { figure, loose, shortText } from "./loose.ts";
import { tolerant } from "./tolerant.ts";

/** Fields of an answer; the service itself promises more of them than a reader may count on. */
export const projectFields = {
  id: shortText.min(1),
  name: shortText.optional(),
  platform_id: shortText.optional(),
  region_id: shortText.optional(),
  provisioner: shortText.optional(),
  pg_version: figure.optional(),
  cpu_used_sec: z.number().optional(),
  locked: z.boolean().optional(),
  branch_logical_size_limit: z.number().optional(),
  proxy_host: shortText.optional(),
  /** The account or organization that it belongs to. */
  owner_id: shortText.optional(),
  org_id: shortText.optional(),
  created_at: shortText.optional(),
  updated_at: shortText.optional(),
};

/** A project as the service lists it; an optional field that cannot be read is left out. */
export const Project = tolerant(projectFields);
export type Project = z.infer<typeof Project>;

/**
 * `GET /projects`, one page of it. Projects named in `unavailable_project_ids` exist but are not in the page: absence
 * from such a list proves nothing.
 */
export const ProjectsAnswer = loose({
  projects: z.array(Project),
  unavailable_project_ids: z.array(z.string()).optional(),
  pagination: loose({ cursor: z.string().optional() }).optional(),
});
export type ProjectsAnswer = z.infer<typeof ProjectsAnswer>;

/** `GET /projects/{id}` */
export const ProjectAnswer = loose({ project: Project });
export type ProjectAnswer = z.infer<typeof ProjectAnswer>;

/** The most projects that one page of `GET /projects` holds, and how many it holds by default. */
export const projectsPerPage = { default: 10, max: 400 } as const;
