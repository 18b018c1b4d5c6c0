// Issues signed tokens (JWT).

import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Issuer {
  private readonly secret = randomBytes(32).toString("hex");
  private readonly folder = mkdtempSync(join(tmpdir(), "everdesk-e2e-keys-"));

  /** The flags of a hub that accepts these tokens. */
  get flags(): string[] {
    const file = join(this.folder, "secret");
    writeFileSync(file, this.secret);
    return ["--auth", "jwt", "--auth-keys", file];
  }

  token(user: string, ...roles: string[]): string {
    const part = (o: object): string => Buffer.from(JSON.stringify(o)).toString("base64url");
    const now = Math.floor(Date.now() / 1000);
    const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: user, roles, iat: now, exp: now + 3600 })}`;
    return `${text}.${createHmac("sha256", this.secret).update(text).digest("base64url")}`;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
