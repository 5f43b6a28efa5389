/** As much of a page as the plugin uses: what obsidian.d.ts adds to elements ("declare global"), and windows. */

export interface ElementInfo {
  text?: string;
  cls?: string;
}

/** An element; what it shows is asked of `text`. */
export class FakeElement extends EventTarget {
  readonly children: FakeElement[] = [];
  readonly classes = new Set<string>();
  readonly attributes = new Map<string, string>();
  readonly ownerDocument: FakeDocument;
  #text = "";

  constructor(ownerDocument: FakeDocument) {
    super();
    this.ownerDocument = ownerDocument;
  }

  /** Its own text and that of all below it, each on a line of its own. */
  get text(): string {
    return [this.#text, ...this.children.map((child) => child.text)].filter((text) => text !== "").join("\n");
  }

  createEl(_tag: string, { text = "", cls = "" }: ElementInfo = {}): FakeElement {
    const made = new FakeElement(this.ownerDocument);
    made.setText(text);
    if (cls !== "") made.addClass(...cls.split(" "));
    this.children.push(made);
    return made;
  }

  setText(text: string): void {
    this.children.length = 0;
    this.#text = text;
  }

  empty(): void {
    this.setText("");
  }

  addClass(...classes: string[]): void {
    for (const each of classes) this.classes.add(each);
  }

  setAttr(name: string, value: string): void {
    this.attributes.set(name, value);
  }
}

/** What has the focus is one of all windows, or none of them. */
export class FakeDocument {
  readonly body = new FakeElement(this);
  isFocused = false;

  hasFocus(): boolean {
    return this.isFocused;
  }
}

export class FakeWindow extends EventTarget {
  readonly document = new FakeDocument();

  focus(): void {
    this.document.isFocused = true;
    this.dispatchEvent(new Event("focus"));
  }

  blur(): void {
    this.document.isFocused = false;
    this.dispatchEvent(new Event("blur"));
  }
}
