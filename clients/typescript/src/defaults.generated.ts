// Generated from the repository's schemas/ by scripts/generate.js; not edited by hand.

import type { Defaults } from "./defaults.js";

/** The defaults in the data of answers, by the name of the tool. */
export const DEFAULTS: Readonly<Record<string, Defaults>> = {
  "get_context_manifest": {
    "inner": {
      "layers": {
        "each": {
          "inner": {
            "entries": {
              "each": {
                "given": {
                  "cached": false
                }
              }
            }
          }
        }
      }
    }
  },
  "get_current_note": {
    "given": {
      "type": "note",
      "exists": true,
      "archived": false
    },
    "inner": {
      "metadata": {
        "given": {
          "tags": [],
          "customFields": {},
          "wordCount": 0,
          "characterCount": 0
        }
      },
      "links": {
        "inner": {
          "outgoing": {
            "each": {
              "given": {
                "exists": true,
                "embed": false
              }
            }
          }
        }
      }
    }
  },
  "get_navigation_history": {
    "inner": {
      "visits": {
        "each": {
          "given": {
            "exists": true
          }
        }
      }
    }
  },
  "get_note_by_reference": {
    "given": {
      "type": "note",
      "exists": true,
      "archived": false
    },
    "inner": {
      "metadata": {
        "given": {
          "tags": [],
          "customFields": {},
          "wordCount": 0,
          "characterCount": 0
        }
      },
      "links": {
        "inner": {
          "outgoing": {
            "each": {
              "given": {
                "exists": true,
                "embed": false
              }
            }
          }
        }
      }
    }
  },
  "get_note_diff": {
    "given": {
      "changed": true,
      "added": 0,
      "removed": 0
    },
    "inner": {
      "since": {
        "given": {
          "exists": true
        }
      }
    }
  },
  "get_related_notes": {
    "inner": {
      "related": {
        "each": {
          "given": {
            "archived": false
          }
        }
      }
    }
  },
  "get_workspace_context": {
    "given": {
      "omitted": [],
      "omittedTotal": 0,
      "withheld": 0
    },
    "inner": {
      "activeNote": {
        "given": {
          "type": "note",
          "exists": true,
          "archived": false
        },
        "inner": {
          "metadata": {
            "given": {
              "tags": [],
              "customFields": {},
              "wordCount": 0,
              "characterCount": 0
            }
          }
        }
      },
      "pinnedNotes": {
        "each": {
          "given": {
            "type": "note",
            "exists": true,
            "archived": false
          },
          "inner": {
            "metadata": {
              "given": {
                "tags": [],
                "customFields": {},
                "wordCount": 0,
                "characterCount": 0
              }
            }
          }
        }
      },
      "temporaryTabs": {
        "each": {
          "given": {
            "type": "note",
            "exists": true,
            "archived": false
          },
          "inner": {
            "metadata": {
              "given": {
                "tags": [],
                "customFields": {},
                "wordCount": 0,
                "characterCount": 0
              }
            }
          }
        }
      },
      "recentNotes": {
        "each": {
          "given": {
            "exists": true
          }
        }
      },
      "vaultInfo": {
        "given": {
          "indexState": "ready"
        }
      },
      "summary": {
        "given": {
          "contentLength": 0
        }
      }
    }
  },
  "get_workspace_summary": {
    "given": {
      "indexState": "ready",
      "topTags": {}
    },
    "inner": {
      "activity": {
        "inner": {
          "recentlyVisited": {
            "each": {
              "given": {
                "exists": true
              }
            }
          },
          "recentlyChanged": {
            "each": {
              "given": {
                "exists": true
              }
            }
          },
          "mostVisited": {
            "each": {
              "given": {
                "exists": true
              }
            }
          }
        }
      },
      "openQuestions": {
        "given": {
          "brokenLinks": [],
          "ambiguousLinks": [],
          "missingNotes": []
        }
      }
    }
  },
  "linked/get_current_note": {
    "given": {
      "type": "note",
      "exists": true,
      "archived": false
    },
    "inner": {
      "metadata": {
        "given": {
          "tags": [],
          "customFields": {},
          "wordCount": 0,
          "characterCount": 0
        }
      },
      "links": {
        "inner": {
          "outgoing": {
            "each": {
              "given": {
                "exists": true,
                "embed": false
              }
            }
          }
        }
      },
      "linked": {
        "inner": {
          "machines": {
            "each": {
              "given": {
                "here": false
              }
            }
          }
        }
      }
    }
  },
  "linked/get_workspace_context": {
    "given": {
      "omitted": [],
      "omittedTotal": 0,
      "withheld": 0
    },
    "inner": {
      "activeNote": {
        "given": {
          "type": "note",
          "exists": true,
          "archived": false
        },
        "inner": {
          "metadata": {
            "given": {
              "tags": [],
              "customFields": {},
              "wordCount": 0,
              "characterCount": 0
            }
          }
        }
      },
      "pinnedNotes": {
        "each": {
          "given": {
            "type": "note",
            "exists": true,
            "archived": false
          },
          "inner": {
            "metadata": {
              "given": {
                "tags": [],
                "customFields": {},
                "wordCount": 0,
                "characterCount": 0
              }
            }
          }
        }
      },
      "temporaryTabs": {
        "each": {
          "given": {
            "type": "note",
            "exists": true,
            "archived": false
          },
          "inner": {
            "metadata": {
              "given": {
                "tags": [],
                "customFields": {},
                "wordCount": 0,
                "characterCount": 0
              }
            }
          }
        }
      },
      "recentNotes": {
        "each": {
          "given": {
            "exists": true
          }
        }
      },
      "vaultInfo": {
        "given": {
          "indexState": "ready"
        }
      },
      "summary": {
        "given": {
          "contentLength": 0
        }
      },
      "linked": {
        "inner": {
          "machines": {
            "each": {
              "given": {
                "here": false
              }
            }
          }
        }
      }
    }
  },
  "search_workspace": {
    "given": {
      "complete": true,
      "indexState": "ready"
    },
    "inner": {
      "results": {
        "each": {
          "given": {
            "line": 1,
            "snippet": ""
          }
        }
      }
    }
  }
};
