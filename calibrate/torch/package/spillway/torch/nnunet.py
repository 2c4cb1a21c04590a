"""nnU-Net 2: names the folder in which it finds the trainer nnUNetTrainerSpillway.

    export nnUNet_extTrainer=$(python3 -m spillway.torch.nnunet)
    SPILLWAY_MEMORY="11 GB" nnUNetv2_train 1 3d_fullres 0 -tr nnUNetTrainerSpillway
"""
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nnunet_trainers")

if __name__ == "__main__":
    print(FOLDER)
