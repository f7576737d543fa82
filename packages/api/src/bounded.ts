/** Parts of the specs that users write, each with the limits that its CRD states; see `limitsOf`. */
import { z } from 'zod';

/** A text of at most so many characters. */
export const text = (maxLength: number) => z.string().meta({ maxLength });

/** A list of at most so many entries. */
export const list = <T extends z.ZodType>(entry: T, maxItems: number) => z.array(entry).meta({ maxItems });

/** A map of at most so many keys. Its keys are bounded by the size of a request alone: a CRD has no limit for them. */
export const map = <T extends z.ZodType>(value: T, maxProperties: number) => z.record(z.string(), value).meta({ maxProperties });

/** Name of an object or a namespace. */
export const objectName = () => text(253);

/** Key of a label or an annotation: prefix, slash, name. */
export const labelKey = () => text(317);

/** Value of a label. */
export const labelValue = () => text(63);

/** Reference of an image; programs read no longer one. */
export const image = () => text(1024);
