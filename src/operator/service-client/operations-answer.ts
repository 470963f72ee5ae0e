import { OperationsAnswer } from "../../api/operation.ts";
import { asRecord } from "../objects/record.ts";
import { shareWithin } from "../objects/shared-values.ts";
import type { AnswerReader } from "./endpoint-lists.ts";

/** The most operations of a project that are listed, unless more are asked for, and then. */
export const operationsListed = 100;
export const mostOperationsListed = 1000;

/** Reads only those operations of an answer that are wanted: a busy project lists many more. */
export function operationsAmong(wanted: (id: string) => boolean): AnswerReader<OperationsAnswer> {
  return {
    safeParse(body) {
      const answer = asRecord(body);
      if (!Array.isArray(answer.operations)) return OperationsAnswer.safeParse(body);
      const operations: unknown[] = answer.operations;
      const read = OperationsAnswer.safeParse({
        ...answer,
        operations: operations.filter((one) => wanted(String(asRecord(one).id))),
      });
      for (const operation of read.data?.operations ?? []) shareWithin(operation);
      return read;
    },
  };
}
