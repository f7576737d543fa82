import { FlotillaError } from '@flotilla/api';

type Json = Record<string, unknown>;

/** The kind as messages name it. */
export interface NamedKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
}

/** A field that is refused; `reason` is the cause's own. */
export interface Cause {
  readonly field?: string;
  readonly reason: string;
  readonly message: string;
}

/** An answer that is none of success: the HTTP status and the body of type Status, or a text. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: Json | string;

  constructor(status: number, body: Json | string) {
    super(typeof body === 'string' ? body : String(body.message));
    this.status = status;
    this.body = body;
  }
}

/** The memory server does not know how a real one answers. Its code is `FLOTILLA_MEMORY_UNSUPPORTED`. */
export class UnsupportedError extends FlotillaError {
  constructor(what: string) {
    super('FLOTILLA_MEMORY_UNSUPPORTED', `the API server in memory cannot ${what}: teach it, with a question of its conformance suite`);
  }
}

interface Details {
  readonly kind?: NamedKind | undefined;
  readonly name?: string | undefined;
  readonly causes?: readonly Cause[];
}

function refusal(code: number, reason: string, message: string, { kind, name, causes }: Details = {}): Refusal {
  const details = {
    ...(name && { name }),
    ...(kind?.group && { group: kind.group }),
    ...(kind && { kind: reason === 'Invalid' ? kind.kind : kind.plural }),
    ...(causes && causes.length > 0 && { causes }),
  };
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code };
  return new Refusal(code, body);
}

/** `plural.group`, or the plural alone for the core group. */
export const groupResource = ({ group, plural }: NamedKind): string => (group === '' ? plural : `${plural}.${group}`);

/** No object of that name. */
export const notFound = (kind: NamedKind, name: string): Refusal =>
  refusal(404, 'NotFound', `${groupResource(kind)} "${name}" not found`, { kind, name });
/** No such subresource of a served kind. */
export const noSuchResource = (): Refusal => refusal(404, 'NotFound', 'the server could not find the requested resource');
/** No such path. */
export const noSuchPath = (): Refusal => new Refusal(404, '404 page not found\n');
/** The name is taken. @param isLeaving its object is being deleted */
export const alreadyExists = (kind: NamedKind, name: string, isLeaving: boolean): Refusal =>
  refusal(409, 'AlreadyExists', `${isLeaving ? 'object is being deleted: ' : ''}${groupResource(kind)} "${name}" already exists`, {
    kind,
    name,
  });
/** Somebody else wrote first. */
export const modified = (kind: NamedKind, name: string): Refusal =>
  conflict(kind, name, 'the object has been modified; please apply your changes to the latest version and try again');
/** A write that does not agree with what is stored. */
export const conflict = (kind: NamedKind, name: string, why: string): Refusal =>
  refusal(409, 'Conflict', `Operation cannot be fulfilled on ${groupResource(kind)} "${name}": ${why}`, { kind, name });
/** Fields that others own. */
export const applyConflict = (message: string, causes: readonly Cause[]): Refusal => refusal(409, 'Conflict', message, { causes });
/** A PUT of a kind that needs to know what it replaces. */
export const versionNeeded = (kind: NamedKind, name: string): Refusal => {
  const message = 'Invalid value: 0: must be specified for an update';
  const causes = [{ field: 'metadata.resourceVersion', reason: 'FieldValueInvalid', message }];
  const says = `${groupResource(kind)} "${name}" is invalid: metadata.resourceVersion: ${message}`;
  return refusal(422, 'Invalid', says, { kind, name, causes });
};
/** A patch that makes something else of an object than its kind. */
export const misfitPatch = (object: Json, why: string): Refusal => {
  const message = `Invalid value: ${JSON.stringify(JSON.stringify(object))}: ${why}`;
  return refusal(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
    causes: [{ field: 'patch', reason: 'FieldValueInvalid', message }],
  });
};
/** Admission says no. */
export const forbidden = (kind: NamedKind, name: string, why: string, causes: readonly Cause[] = []): Refusal =>
  refusal(403, 'Forbidden', `${groupResource(kind)} "${name}" is forbidden: ${why}`, { kind, name, causes });
/** Admission by a webhook says no. */
export const denied = (webhook: string, why: string): Refusal =>
  refusal(403, 'Forbidden', `admission webhook "${webhook}" denied the request: ${why}`);
/** The request makes no sense. */
export const badRequest = (message: string): Refusal => refusal(400, 'BadRequest', message);
/** The server's own fault, as it says. */
export const internal = (message: string): Refusal => {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 };
  return new Refusal(500, body);
};
/** A version that is no longer kept. */
export const expired = (message: string): Refusal => refusal(410, 'Expired', message);
/** A patch that fits nothing. */
export const unprocessable = (message: string, causes: readonly Cause[] = []): Refusal => refusal(422, 'Invalid', message, { causes });

/** Fields that are refused, in the order in which the server tells of them. */
export function invalid(kind: NamedKind, name: string, causes: readonly Cause[]): Refusal {
  const qualified = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const texts = [...new Set(causes.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`)))];
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return refusal(422, 'Invalid', `${qualified} "${name}" is invalid: ${all}`, { kind, name, causes });
}
