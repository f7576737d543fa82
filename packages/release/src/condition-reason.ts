/** A risk's or an error's name as the reason of a condition; `otherwise` where the server would refuse it. */
export const reasonOf = (name: string, otherwise: string): string =>
  /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(name) && name.length <= 1_024 ? name : otherwise;
