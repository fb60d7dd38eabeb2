import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, lstat, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileSecrets } from "@workspace-tasks/sdk";
import { expect, it, vi } from "vitest";
import { withFolder } from "../../../support/with-folder.ts";

/** The link that changes this text, as a process that was killed leaves it. */
const linkOf = (path: string, text: string | null) =>
  `${path}.${createHash("sha256").update(String(text)).digest("hex").slice(0, 16)}`;

it("a file is replaced only where it still has the text that was read, and leaves no other file", () =>
  withFolder(async (folder) => {
    const path = join(folder, "secrets.json");
    const store = fileSecrets(path);
    expect(await store.read()).toBeNull();
    expect(await store.write("a", "something else")).toBe(false);
    expect(await store.write("a", null)).toBe(true);
    expect(await store.write("b", null)).toBe(false);
    expect(await store.write("b", "a")).toBe(true);
    expect(await fileSecrets(path).read()).toBe("b");
    expect(await readdir(folder)).toEqual(["secrets.json"]);
  }));

it.skipIf(process.platform === "win32")(
  "only its owner can read a file, also one that was open to others",
  () =>
    withFolder(async (folder) => {
      const path = join(folder, "secrets.json");
      await writeFile(path, "a");
      await chmod(path, 0o644);
      await fileSecrets(path).write("b", "a");
      expect((await stat(path)).mode & 0o777).toBe(0o600);
    }),
);

it.runIf(process.getuid?.() === 0)(
  "a file that another user has created is neither believed nor replaced",
  () =>
    withFolder(async (folder) => {
      const path = join(folder, "secrets.json");
      await writeFile(path, "theirs");
      await chown(path, 4_242, 4_242);
      const user = vi.spyOn(process, "getuid").mockReturnValue(1_234);
      const store = fileSecrets(path);
      await expect(store.read()).rejects.toThrow("belongs to another user (4242)");
      await expect(store.write("ours", "theirs")).rejects.toThrow("belongs to another user (4242)");
      user.mockRestore();
      expect(await readFile(path, "utf8")).toBe("theirs");
    }),
);

it("of many writers at once one changes a text, and every change that was confirmed is kept", () =>
  withFolder(async (folder) => {
    const path = join(folder, "secrets.json");
    const confirmed: string[] = [];
    const increment = async (name: string) => {
      const store = fileSecrets(path);
      for (let tries = 0; tries < 40; tries += 1) {
        const text = await store.read();
        const next = `${text ?? ""}${name}`;
        if (await store.write(next, text)) confirmed.push(name);
      }
    };
    await Promise.all(["a", "b", "c", "d"].map(increment));
    // Each change adds one letter: a lost one would be missing.
    const text = await readFile(path, "utf8");
    expect([...text].sort()).toEqual(confirmed.sort());
    expect(confirmed.length).toBeGreaterThan(10);
    expect(await readdir(folder)).toEqual(["secrets.json"]);
  }));

it("the change of a process that was killed is completed by the next one", () =>
  withFolder(async (folder) => {
    const path = join(folder, "secrets.json");
    const store = fileSecrets(path);
    await store.write("a", null);
    await writeFile(linkOf(path, "a"), "b");
    expect(await store.write("c", "a")).toBe(false);
    // It may be alive.
    expect(await store.read()).toBe("a");
    await utimes(linkOf(path, "a"), new Date(0), new Date(0));
    expect(await store.write("c", "a")).toBe(false);
    expect(await store.read()).toBe("b");
    expect(await store.write("c", "b")).toBe(true);
    expect(await readdir(folder)).toEqual(["secrets.json"]);
  }));

it.skipIf(process.platform === "win32")(
  "a link to the file stays one, and what is no file is not replaced",
  () =>
    withFolder(async (folder) => {
      const [path, link, socket] = ["secrets.json", "link.json", "socket"].map((name) => join(folder, name));
      await fileSecrets(path as string).write("a", null);
      await symlink("secrets.json", link as string);
      expect(await fileSecrets(link as string).write("b", "a")).toBe(true);
      expect(await fileSecrets(path as string).read()).toBe("b");
      expect((await lstat(link as string)).isSymbolicLink()).toBe(true);
      const server = createServer().listen(socket as string);
      await once(server, "listening");
      await expect(fileSecrets(socket as string).write("a", null)).rejects.toThrow("expected a file");
      expect((await stat(socket as string)).isSocket()).toBe(true);
      server.close();
      await once(server, "close");
    }),
);

it("a missing folder fails the write, and a path that is none the creation", async () => {
  await expect(fileSecrets("/no/such/folder/secrets.json").write("a", null)).rejects.toMatchObject({
    code: "ENOENT",
  });
  expect(() => fileSecrets("")).toThrow(expect.objectContaining({ code: "CONFIGURATION_INVALID" }));
  expect(() => fileSecrets(7 as never)).toThrow("fileSecrets: path: expected a string, got a number");
});
