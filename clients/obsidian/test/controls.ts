/** Obsidian's dialogues, notices and settings, as far as the plugin uses them (obsidian.d.ts, same names). */

import { FakeElement, FakeWindow } from "./elements.js";

const page = new FakeWindow().document;

/** What was said to the user, the latest last. */
export const notices: string[] = [];
/** The dialogues that are open. */
export const dialogues: Modal[] = [];

export class Notice {
  constructor(message: string) {
    notices.push(message);
  }
}

/** d.ts: `open` shows it and calls `onOpen`; `close` hides it and calls `onClose`. */
export class Modal {
  readonly contentEl = new FakeElement(page);
  readonly titleEl = new FakeElement(page);
  readonly settings: Setting[] = [];

  constructor(readonly app: unknown) {}

  open(): void {
    dialogues.push(this);
    void this.onOpen();
  }

  close(): void {
    dialogues.splice(dialogues.indexOf(this), 1);
    this.onClose();
  }

  setTitle(title: string): this {
    this.titleEl.setText(title);
    return this;
  }

  onOpen(): void | Promise<void> {}
  onClose(): void {}
}

class Control<Value> {
  value: Value | undefined;
  text = "";
  #changed: (value: Value) => unknown = () => {};
  #clicked: () => unknown = () => {};

  setValue(value: Value): this {
    this.value = value;
    return this;
  }
  setPlaceholder(): this {
    return this;
  }
  setButtonText(text: string): this {
    this.text = text;
    return this;
  }
  setCta(): this {
    return this;
  }
  onChange(changed: (value: Value) => unknown): this {
    this.#changed = changed;
    return this;
  }
  onClick(clicked: () => unknown): this {
    this.#clicked = clicked;
    return this;
  }
  /** The user changes it. */
  async change(value: Value): Promise<void> {
    this.value = value;
    await this.#changed(value);
  }
  async click(): Promise<void> {
    await this.#clicked();
  }
}

/** All settings that were made, for a test to find one by its name. */
export const settings: Setting[] = [];

export class Setting {
  name = "";
  readonly texts: Control<string>[] = [];
  readonly toggles: Control<boolean>[] = [];
  readonly buttons: Control<never>[] = [];

  constructor(readonly containerEl: FakeElement) {
    settings.push(this);
  }
  setName(name: string): this {
    this.name = name;
    return this;
  }
  setDesc(): this {
    return this;
  }
  addText(make: (control: Control<string>) => unknown): this {
    return this.#add(this.texts, make);
  }
  addToggle(make: (control: Control<boolean>) => unknown): this {
    return this.#add(this.toggles, make);
  }
  addButton(make: (control: Control<never>) => unknown): this {
    return this.#add(this.buttons, make);
  }

  #add<Value>(list: Control<Value>[], make: (control: Control<Value>) => unknown): this {
    const control = new Control<Value>();
    list.push(control);
    make(control);
    return this;
  }
}

export class PluginSettingTab {
  readonly containerEl = new FakeElement(page);
  constructor(
    readonly app: unknown,
    readonly plugin: unknown,
  ) {}
  display(): void {}
}
