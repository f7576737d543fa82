import { LuaFactory } from 'wasmoon';
import { z } from 'zod';

const Health = z.object({ status: z.enum(['Healthy', 'Progressing', 'Degraded', 'Suspended']), message: z.string().optional() });

/** What Argo CD's script says of an object: it sees the object as the global `obj` and returns its verdict. */
export async function luaHealth(script: string, object: object): Promise<string> {
  const lua = await new LuaFactory().createEngine({ injectObjects: true });
  try {
    // As a table of Lua, not as an object of JavaScript, whose lists would begin at 0.
    await lua.doString(`obj = ${luaTable(object)}`);
    return Health.parse(await lua.doString(script)).status;
  } finally {
    lua.global.close();
  }
}

/** A value as Lua source; what is null in JSON is absent in Lua. */
function luaTable(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (Array.isArray(value)) return `{${value.map(luaTable).join(',')}}`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `[${JSON.stringify(key)}]=${luaTable(each)}`)
      .join(',')}}`;
  return JSON.stringify(value);
}
