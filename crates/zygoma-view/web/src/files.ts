// Files that are dropped on the page or chosen: rigs, folders of OBJs, faces, takes.

import type { Connection } from "./connection";
import type { State } from "./state";

interface Upload {
  path: string;
  file: File;
}

const RIGS = /\.(glb|gltf|vrm|safetensors)$/i;
const TAKES = /\.(csv|txt)$/i;
const MOST_FILES = 2000;

export class Files {
  constructor(
    private readonly state: State,
    private readonly connection: Connection,
    private readonly veil: HTMLElement,
  ) {
    let depth = 0;
    const over = (on: boolean) => this.veil.classList.toggle("on", on);
    addEventListener("dragenter", (event) => {
      event.preventDefault();
      depth++;
      over(true);
    });
    addEventListener("dragleave", () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) over(false);
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      depth = 0;
      over(false);
      if (event.dataTransfer) void this.dropped(event.dataTransfer);
    });
  }

  /** Lets the user choose a file. */
  choose(): void {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = ".glb,.gltf,.vrm,.obj,.safetensors,.csv,.txt,.bin,.png,.jpg";
    input.multiple = true;
    input.onchange = () => void this.take(Array.from(input.files ?? []).map((file) => ({ path: file.name, file })));
    input.click();
  }

  private async dropped(data: DataTransfer): Promise<void> {
    const entries = Array.from(data.items)
      .map((item) => item.webkitGetAsEntry())
      .filter((entry) => entry !== null);
    const uploads: Upload[] = [];
    if (entries.length > 0) for (const entry of entries) await walk(entry, "", uploads);
    else for (const file of data.files) uploads.push({ path: file.name, file });
    await this.take(uploads);
  }

  /** Sends files to the server and opens what they are. */
  async take(chosen: Upload[]): Promise<void> {
    const uploads = together(chosen);
    if (uploads.length === 0) return;
    if (uploads.length > MOST_FILES) {
      this.state.error.set(`There are ${uploads.length} files; drop the folder of one rig only.`);
      return;
    }
    const main = uploads.find(({ path }) => RIGS.test(path));
    const take = uploads.find(({ path }) => TAKES.test(path));
    const objects = uploads.filter(({ path }) => /\.obj$/i.test(path));
    const first = uploads[0] as Upload;
    this.state.error.set(null);
    this.state.loading.set(nameOf(uploads, main ?? first));
    for (const [index, upload] of uploads.entries()) {
      if (uploads.length > 1) this.state.loadingNote.set(`file ${index + 1} of ${uploads.length}`);
      const problem = await this.upload(upload);
      if (problem) {
        this.state.loading.set(null);
        this.state.error.set(problem);
        return;
      }
    }
    this.state.loadingNote.set("");
    if (main) this.connection.send({ type: "open", upload: main.path });
    else if (objects.length > 0) this.connection.send({ type: "open", upload: folderOf(objects) });
    else if (take) {
      this.state.loading.set(null);
      this.connection.send({ type: "addTake", upload: take.path });
    } else this.connection.send({ type: "open", upload: first.path });
  }

  private async upload({ path, file }: Upload): Promise<string | null> {
    const address = `upload/${this.state.session.value}/${path.split("/").map(encodeURIComponent).join("/")}`;
    try {
      const answer = await fetch(address, { method: "PUT", body: file });
      return answer.ok ? null : await answer.text();
    } catch {
      return `${path} could not be sent: the viewer is not running.`;
    }
  }
}

/** The name of dropped files: that of the file, or of the folder. */
function nameOf(uploads: Upload[], main: Upload): string {
  const [folder, rest] = main.path.split("/");
  return uploads.length > 1 && rest !== undefined ? (folder ?? "") : (main.path.split("/").pop() ?? "");
}

/** Loose OBJs are one rig: they get a folder of their own. */
function together(uploads: Upload[]): Upload[] {
  const loose = uploads.filter(({ path }) => /\.obj$/i.test(path) && !path.includes("/"));
  if (loose.length < 2) return uploads;
  return uploads.map(({ path, file }) => ({ path: `rig/${path}`, file }));
}

/** The folder of OBJs: the one that they share, or the only one itself. */
function folderOf(objects: Upload[]): string {
  const [first] = objects;
  const path = first?.path ?? "";
  if (objects.length === 1 || !path.includes("/")) return path;
  return path.slice(0, path.lastIndexOf("/"));
}

async function walk(entry: FileSystemEntry, prefix: string, uploads: Upload[]): Promise<void> {
  if (uploads.length > MOST_FILES) return;
  const path = prefix + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    uploads.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives its entries in portions.
  for (;;) {
    const portion = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (portion.length === 0) return;
    for (const inner of portion) await walk(inner, `${path}/`, uploads);
  }
}
