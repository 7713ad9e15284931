"""Diffusion pipelines of tiny parts with random weights."""

import diffusers
import tiny_models
import torch
import transformers

CHANNELS, GROUPS = (8, 16), 4
# Of the products and normalisations of a UNet's longest path: 3 x 3 convolutions of at most twice
# the channels (the skip connections), two in each of 2 + 1 + 2 resnets, and attention.
UNET_TERMS = 5 * 2 * 9 * 2 * CHANNELS[-1] + 3 * 6 * CHANNELS[-1]


def unet(width=16):
    torch.manual_seed(0)
    return diffusers.UNet2DConditionModel(
        block_out_channels=CHANNELS,
        layers_per_block=1,
        sample_size=8,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=width,
        attention_head_dim=4,
        norm_num_groups=GROUPS,
    ).eval()


def vae():
    torch.manual_seed(1)
    return diffusers.AutoencoderKL(
        block_out_channels=CHANNELS,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        latent_channels=4,
        norm_num_groups=GROUPS,
        sample_size=16,
    ).eval()


def tokenizer(length=8):
    found = tiny_models.tokenizer()
    found.model_max_length = length
    return found


def clip(width):
    torch.manual_seed(2)
    config = transformers.CLIPTextConfig(
        vocab_size=tiny_models.VOCABULARY,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=8,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return transformers.CLIPTextModel(config).eval()


def text_to_image(width=16):
    """Stable Diffusion's parts: CLIP reads, a UNet takes noise away, a decoder paints."""
    return diffusers.StableDiffusionPipeline(
        vae=vae(),
        text_encoder=clip(width),
        tokenizer=tokenizer(),
        unet=unet(width),
        scheduler=diffusers.DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def diffusion_transformer():
    torch.manual_seed(3)
    transformer = diffusers.DiTTransformer2DModel(
        sample_size=8,
        num_layers=2,
        patch_size=2,
        attention_head_dim=4,
        num_attention_heads=4,
        in_channels=4,
        out_channels=8,
        attention_bias=True,
        activation_fn="gelu-approximate",
        num_embeds_ada_norm=1000,  # the pipeline takes class 1000 for none
        norm_type="ada_norm_zero",
        norm_elementwise_affine=False,
    ).eval()
    return diffusers.DiTPipeline(transformer, vae(), diffusers.DDIMScheduler())


def flux():
    """CLIP and T5 read, a transformer of text and image together moves noise to an image."""
    torch.manual_seed(4)
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=16,
        axes_dims_rope=[4, 4, 8],
    ).eval()
    config = transformers.T5Config(
        vocab_size=tiny_models.VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4
    )
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
    reader = transformers.T5EncoderModel(config).eval()
    painter = vae()
    painter.register_to_config(shift_factor=0.1)
    return diffusers.FluxPipeline(
        scheduler, painter, clip(16), tokenizer(), reader, tokenizer(), transformer
    )
